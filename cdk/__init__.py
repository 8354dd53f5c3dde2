"""How Hourbell stands in AWS: stage settings, constructs, stacks, and the command that builds the layers."""
