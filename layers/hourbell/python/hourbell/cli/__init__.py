"""The command line: ``hourbell``."""
