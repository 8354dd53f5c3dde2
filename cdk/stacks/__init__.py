"""The five stacks: they compose constructs and grant."""
