"""What a tenant may have at most, and the moments that a quota of runs gives away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from hourbell.domain.instants import floor_ms

MAX_JOBS = "max_jobs"
MAX_RUNS_PER_MINUTE = "max_runs_per_minute"
MAX_REQUESTS_PER_SECOND = "max_requests_per_second"

# A quiet tenant may send so many seconds' worth of requests at once.
REQUEST_BURST_SECONDS = 2

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """Limits of one tenant; None: there is none.

    ``max_jobs``: active and paused jobs. ``max_runs_per_minute``: occurrences that start within one minute of the
    clock; what is more starts in the minutes after it. ``max_requests_per_second``: calls of the API in the long run.
    """

    max_jobs: int | None = None
    max_runs_per_minute: int | None = None
    max_requests_per_second: int | None = None


DEFAULT_QUOTAS = Quotas(max_jobs=1_000_000, max_runs_per_minute=100_000, max_requests_per_second=100)


def minute_of(instant: datetime) -> datetime:
    """The minute of the clock that holds the instant, by its beginning."""
    return instant.replace(second=0, microsecond=0)


class Minutes:
    """Gives the runs of one tenant their moments; ask in the order in which they are wanted.

    ``given``: by minute, how many runs have a moment in it already. ``taken``: the same for the minutes in which some
    were given away here. The oldest wait first, so minutes that were found full need not be looked at again.
    """

    def __init__(self, limit: int, given: Mapping[datetime, int]) -> None:
        self._limit = limit
        self._given = given
        self._first_free: datetime | None = None
        self.taken: dict[datetime, int] = {}

    def reserve(self, wanted: datetime, *, now: datetime) -> datetime:
        """The moment of a run that wants to start at ``wanted``: that, or one in the first minute that has room."""
        minute = wanted_minute = minute_of(max(wanted, now))
        if self._first_free is not None:
            minute = max(minute, self._first_free)
        while (before := self._runs_in(minute)) >= self._limit:
            minute += MINUTE
        self._first_free = minute
        self.taken[minute] = before + 1
        return wanted if minute == wanted_minute else floor_ms(minute + MINUTE * before / self._limit)

    def _runs_in(self, minute: datetime) -> int:
        return self.taken.get(minute, self._given.get(minute, 0))
