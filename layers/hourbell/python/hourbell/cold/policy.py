"""When the intake of an hour becomes a segment, and which segments become one: pure decisions.

Both bound what S3 charges for. A PUT holds at least ``FEW`` jobs, so a million jobs cost at most 10,000 of them however
they trickle in; a merge takes at least ``MERGE`` segments of about one size, so each job is written anew at most once
per size, and merges add less than a sixth. Hours with fewer jobs stay in the intake until they are promoted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from math import ceil, log
from typing import NamedTuple, TypeVar

from hourbell.cold.segment import SEGMENT_BYTES, SEGMENT_RECORDS

# An hour is frozen at once when it has FULL jobs, and when it has FEW and the oldest is OLD.
FULL = 1_000
FEW = 100
OLD = timedelta(minutes=15)
# Segments of one size that become one.
MERGE = 8
# What is promoted soon is not worth a segment.
FREEZE_MARGIN = timedelta(hours=2)

Id = TypeVar("Id", bound=Hashable)


class Sized(NamedTuple):
    """A live segment, as far as merging goes."""

    jobs: int
    text_bytes: int


def is_to_freeze(jobs: int, oldest: datetime, now: datetime) -> bool:
    """Whether an hour's intake is worth a segment now."""
    return jobs >= FULL or (jobs >= FEW and oldest <= now - OLD)


def choose_merges(segments: Iterable[tuple[Id, Sized]]) -> list[Sequence[Id]]:
    """Groups of segments of one hour to be merged, each into one that fits into memory."""
    classes: dict[int, list[tuple[Id, float]]] = defaultdict(list)
    for one, sized in segments:
        share = _share(sized)
        if 2 * share < 1:
            classes[_class(share)].append((one, share))
    merges: list[Sequence[Id]] = []
    for members in classes.values():
        left = members
        while len(group := _fitting(left)) >= MERGE:
            merges.append(group)
            left = left[len(group) :]
    return merges


def _fitting(members: Sequence[tuple[Id, float]]) -> list[Id]:
    shares = accumulate(share for _, share in members)
    return [one for (one, _), total in zip(members, shares, strict=True) if total <= 1]


def _share(sized: Sized) -> float:
    """How much of the largest segment this one is."""
    return max(sized.jobs / SEGMENT_RECORDS, sized.text_bytes / SEGMENT_BYTES)


def _class(share: float) -> int:
    """0: up to an eighth of the largest, 1: up to a 64th, and so on."""
    return ceil(-log(share, MERGE))
