"""What the stacks are made of. Policy statements are written here and nowhere else."""
