"""The three kinds of schedule, and the occurrences of each, in milliseconds since 1970.

Each kind answers the same three questions about spans of time, its own bounds (`start_at`, `end_at`) left aside:
`first_from`, `last_until` and `count`. None walks from one occurrence to the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from uuid import UUID

from hourbell.domain.clock import ZonedTimes, zone
from hourbell.domain.cron import CronExpression, parse_cron
from hourbell.domain.errors import FieldError
from hourbell.domain.instants import epoch_ms
from hourbell.domain.limits import MAX_INSTANT
from hourbell.domain.occurrence import Occurrence
from hourbell.domain.wall_times import DAY, EPOCH_DAY

Found = tuple[int, str | None]  # milliseconds since 1970, note
_LAST_MS = epoch_ms(MAX_INSTANT)


class Gap(StrEnum):
    """What becomes of a fixed time that a clock change leaves out: it fires after the gap, or not at all."""

    RUN = "run"
    SKIP = "skip"


class Repeat(StrEnum):
    """How often a fixed time fires that a clock change brings twice: in the first pass, or in both."""

    ONCE = "once"
    TWICE = "twice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What every recurring schedule may carry: both ends included; `exclude` are dates in the job's zone."""

    start_at: datetime | None = None
    end_at: datetime | None = None
    max_runs: int | None = None
    exclude: tuple[date, ...] = ()
    # The answers given last, by the millisecond asked about: thousands of jobs share one schedule and one instant.
    answers: dict[int, Occurrence | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    def _excluded_days(self) -> frozenset[int]:
        return frozenset(day.toordinal() - EPOCH_DAY for day in self.exclude)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron(Bounds):
    """A cron expression on the wall clock of a zone; building one validates both. `cron` is kept single-spaced."""

    cron: str
    timezone: str = "UTC"
    gap: Gap = Gap.RUN
    repeat: Repeat = Repeat.ONCE
    expression: CronExpression = field(init=False, repr=False, compare=False)
    _zoned: ZonedTimes | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        expression = parse_cron(self.cron)
        zone(self.timezone)
        object.__setattr__(self, "cron", expression.text)
        object.__setattr__(self, "expression", expression)
        object.__setattr__(self, "_zoned", None if expression.hashed else self._build(None))

    def zoned_for(self, job_id: UUID | None) -> ZonedTimes:
        """The instants of this job; raises `FieldError` for H without a job."""
        return self._zoned or self._build(job_id)

    def _build(self, job_id: UUID | None) -> ZonedTimes:
        try:
            times = self.expression.times(job_id)
        except FieldError as error:
            raise error.under("schedule") from None
        return ZonedTimes(
            times=times,
            zone=zone(self.timezone),
            interval_like=self.expression.interval_like,
            gap_runs=self.gap is Gap.RUN,
            repeat_twice=self.repeat is Repeat.TWICE,
            excluded=self._excluded_days(),
        )

    def first_from(self, earliest: int, job_id: UUID | None) -> Found | None:
        """The first at or after `earliest`."""
        found = self.zoned_for(job_id).next_from(-(-earliest // 1_000))
        return found and (found[0] * 1_000, found[1])

    def last_until(self, latest: int, job_id: UUID | None) -> Found | None:
        """The last at or before `latest`."""
        found = self.zoned_for(job_id).last_until(latest // 1_000)
        return found and (found[0] * 1_000, found[1])

    def count(self, earliest: int, latest: int, job_id: UUID | None) -> int:
        """How many lie in [earliest, latest]."""
        return self.zoned_for(job_id).count(-(-earliest // 1_000), latest // 1_000 + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Every(Bounds):
    """Elapsed time: anchor, anchor + every, anchor + 2 * every, …; it never drifts. `timezone` is that of `exclude`."""

    every_ms: int
    anchor: datetime
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        zone(self.timezone)

    def first_from(self, earliest: int, _job_id: UUID | None) -> Found | None:
        """The first at or after `earliest`."""
        anchor, excluded = epoch_ms(self.anchor), self._excluded_days()
        while earliest <= _LAST_MS:
            found = anchor + max(0, -(-(earliest - anchor) // self.every_ms)) * self.every_ms
            if not excluded or (free := self._after_excluded(found, excluded)) == found:
                return (found, None) if found <= _LAST_MS else None
            earliest = free
        return None

    def last_until(self, latest: int, _job_id: UUID | None) -> Found | None:
        """The last at or before `latest`."""
        anchor, excluded = epoch_ms(self.anchor), self._excluded_days()
        while latest >= anchor:
            found = anchor + (latest - anchor) // self.every_ms * self.every_ms
            if not excluded or (free := self._before_excluded(found, excluded)) == found:
                return found, None
            latest = free
        return None

    def count(self, earliest: int, latest: int, _job_id: UUID | None) -> int:
        """How many lie in [earliest, latest]."""
        total = self._count(earliest, latest + 1)
        for day in self._excluded_days():
            for start, end in zone(self.timezone).spans_of_day(day):
                total -= self._count(max(earliest, start * 1_000), min(latest + 1, end * 1_000))
        return total

    def _count(self, start: int, end: int) -> int:
        """Occurrences in [start, end), excluded dates or not."""
        anchor = epoch_ms(self.anchor)
        first, past = (max(0, -(-(edge - anchor) // self.every_ms)) for edge in (start, end))
        return max(0, past - first)

    def _after_excluded(self, ms: int, excluded: frozenset[int]) -> int:
        stretch = zone(self.timezone).stretch(ms // 1_000)
        day = (ms // 1_000 + stretch.offset) // DAY
        return min(stretch.end, (day + 1) * DAY - stretch.offset) * 1_000 if day in excluded else ms

    def _before_excluded(self, ms: int, excluded: frozenset[int]) -> int:
        stretch = zone(self.timezone).stretch(ms // 1_000)
        day = (ms // 1_000 + stretch.offset) // DAY
        return max(stretch.start, day * DAY - stretch.offset) * 1_000 - 1 if day in excluded else ms


@dataclass(frozen=True, slots=True, kw_only=True)
class At(Bounds):
    """One time, as written, and its instant. `second_at` only for a repeated local time with `repeat: "twice"`."""

    text: str
    at: datetime
    second_at: datetime | None = None
    timezone: str | None = None
    gap: Gap = Gap.RUN
    repeat: Repeat = Repeat.ONCE
    notes: tuple[str | None, ...] = field(default=(None, None), compare=False)

    def _instants(self) -> tuple[Found, ...]:
        """One or two, in order."""
        instants = (self.at,) if self.second_at is None else (self.at, self.second_at)
        return tuple((epoch_ms(instant), note) for instant, note in zip(instants, self.notes, strict=False))

    def first_from(self, earliest: int, _job_id: UUID | None) -> Found | None:
        """The first at or after `earliest`."""
        return next((found for found in self._instants() if found[0] >= earliest), None)

    def last_until(self, latest: int, _job_id: UUID | None) -> Found | None:
        """The last at or before `latest`."""
        return next((found for found in reversed(self._instants()) if found[0] <= latest), None)

    def count(self, earliest: int, latest: int, _job_id: UUID | None) -> int:
        """How many lie in [earliest, latest]."""
        return sum(earliest <= ms <= latest for ms, _ in self._instants())


Schedule = Cron | Every | At
