"""Pacing: when a call may go to a target that takes only so many a second.

The generic cell rate algorithm (ITU-T I.371, as "virtual scheduling"): one instant per target, its *theoretical arrival
time* ``tat``, is the whole state. A call that comes before ``tat`` minus the burst's tolerance waits until then.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """``rate_per_second`` calls a second in the long run, and up to ``burst`` of them at once."""

    rate_per_second: float
    burst: int

    @property
    def interval(self) -> timedelta:
        """Time between two calls at full pace."""
        return timedelta(seconds=1 / self.rate_per_second)


def reserve(pace: Pace, tat: datetime | None, wanted: datetime) -> tuple[datetime, datetime]:
    """The earliest release of a call wanted at ``wanted``, and the target's next ``tat``."""
    if tat is None or tat <= wanted:
        return wanted, wanted + pace.interval
    release = max(wanted, tat - pace.interval * (pace.burst - 1))
    return release, tat + pace.interval
