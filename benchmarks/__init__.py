"""Measurements: each prints one JSON line, with its limit or peer measured in the same run."""
