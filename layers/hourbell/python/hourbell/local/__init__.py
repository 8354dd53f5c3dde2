"""The laptop's own cloud: an embedded PostgreSQL, an AWS emulator, and a real deployment of the stacks onto them."""
