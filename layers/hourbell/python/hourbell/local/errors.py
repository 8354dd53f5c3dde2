"""What can go wrong with the local cloud, said to a person at a terminal."""

from __future__ import annotations


class LocalCloudError(Exception):
    """The local cloud could not do what was asked; the message says why and, where known, what helps."""
