"""Turns: no tenant's backlog makes another tenant wait.

A scan claims the oldest due rows first, whoever they belong to. That is fair to jobs and unfair to tenants: 50,000 due
jobs of one stand before the ten of another. So a scan keeps turns:

1. It counts what each tenant has had, in due rows and runs.
2. Tenants that had their share wait: the next claim looks past their rows for those of the others, as far as the
   look-ahead goes, until it finds no more.
3. Then the oldest are claimed again, whoever they belong to, for some claims, and it starts over.

Looking past a row costs about a fiftieth of claiming it, and there are so many ordinary claims between two looks that
what was looked past is soon claimed. Nothing is skipped: whoever is looked past stays due, and is claimed next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeVar
from uuid import UUID

# What a tenant has in one round before it waits for the others: due rows and runs together.
SHARE = 128

# Ordinary claims between two looks past the backlog, and how many claims' worth of rows a look goes ahead.
CLAIMS_BETWEEN_LOOKS = 32
LOOK_AHEAD_CLAIMS = 64

T = TypeVar("T")


class Turns:
    """Whose turn it is in one scan."""

    def __init__(self) -> None:
        self._had: Counter[UUID] = Counter()
        self._ordinary_left = 0
        self.waiting: tuple[UUID, ...] = ()

    def note(self, had: Mapping[UUID, int], *, drained: bool) -> None:
        """Count what a claim took. ``drained``: it left nothing of those whose turn it was."""
        if self.waiting and drained:
            self._had.clear()
            self._ordinary_left = CLAIMS_BETWEEN_LOOKS
            self.waiting = ()
            return
        self._had.update(had)
        if not self.waiting and self._ordinary_left:
            self._ordinary_left -= 1
        if not self._ordinary_left:
            self.waiting = tuple(sorted(tenant for tenant, taken in self._had.items() if taken >= SHARE))


def interleave(items: Iterable[T], owner: Callable[[T], Hashable]) -> list[T]:
    """The first of each owner, then the second of each, and so on; each owner's own order is kept."""
    seen: Counter[Hashable] = Counter()
    ranked: list[tuple[int, T]] = []
    for item in items:
        who = owner(item)
        ranked.append((seen[who], item))
        seen[who] += 1
    return [item for _, item in sorted(ranked, key=lambda one: one[0])]
