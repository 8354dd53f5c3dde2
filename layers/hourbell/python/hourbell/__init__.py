"""Hourbell: a distributed job scheduler that loses nothing when things break."""
