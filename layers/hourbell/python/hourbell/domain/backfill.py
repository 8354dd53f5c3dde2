"""How a backfill is spread: what nobody waits for must not hold up what is due now.

    ├─ first, at once, at the pace ─┤      ├─ the others, from LATER on, at the pace ──────────▶
    now                                    now + LATER

The first are sent by whoever asks for the backfill; the others wait in ``wake_at`` for the reaper. A target with a rate
limit gives its moments away once and for good, so a backfill asks for one only when its turn comes, and leaves every
other moment to what is due by a schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

# Why a run waits that is to be given its moment when its turn comes.
REASON_WAITS = "backfill"

PER_SECOND = 50.0
FIRST = 500
# What a target with a rate limit is asked for at once: as much as its share of so long.
FIRST_SPAN = timedelta(seconds=60)
# The reaper looks every minute, and is to be early.
LATER = timedelta(seconds=150)
# Moments further ahead than this are taken by scheduled runs: the backfill waits until they are through.
PATIENCE = timedelta(seconds=120)
ASK_AGAIN = timedelta(seconds=60)


def backfill_pace(*, rate_per_second: float | None, max_concurrency: int | None) -> float:
    """Runs a second: half of what the target takes, and no more than it can have under way."""
    pace = PER_SECOND
    if rate_per_second is not None:
        pace = min(pace, rate_per_second / 2)
    return pace if max_concurrency is None else min(pace, float(max_concurrency))


def first_at_once(pace: float, *, limited: bool) -> int:
    """How many start from now on."""
    return min(FIRST, max(1, int(pace * FIRST_SPAN.total_seconds()))) if limited else FIRST


def moments(count: int, start: datetime, pace: float) -> Sequence[datetime]:
    """``count`` moments from ``start`` on, ``pace`` a second, to the millisecond."""
    return [start + timedelta(milliseconds=int(index / pace * 1_000)) for index in range(count)]
