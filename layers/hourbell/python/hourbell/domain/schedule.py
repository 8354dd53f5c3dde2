"""When a job runs: `cron`, `every` or `at`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any
from uuid import UUID

from hourbell.domain.occurrence import Occurrence


class Gap(StrEnum):
    """What becomes of a fixed time that a clock change leaves out."""

    RUN = "run"
    SKIP = "skip"


class Repeat(StrEnum):
    """How often a fixed time runs that a clock change brings twice."""

    ONCE = "once"
    TWICE = "twice"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bounds:
    start_at: datetime | None = None
    end_at: datetime | None = None
    max_runs: int | None = None
    exclude: tuple[date, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron(_Bounds):
    """A cron expression in a zone."""

    cron: str
    timezone: str = "UTC"
    gap: Gap = Gap.RUN
    repeat: Repeat = Repeat.ONCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Every(_Bounds):
    """Elapsed time from an anchor."""

    every_ms: int
    anchor: datetime
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class At(_Bounds):
    """One time."""

    text: str
    at: datetime
    second_at: datetime | None = None
    timezone: str | None = None
    gap: Gap = Gap.RUN
    repeat: Repeat = Repeat.ONCE


Schedule = Cron | Every | At


def parse_schedule(mapping: object, *, now: datetime) -> Schedule:
    """From the API's shape; raises `FieldErrors`."""
    raise NotImplementedError


@lru_cache(maxsize=8_192)
def schedule_from_json(text: str) -> Schedule:
    """From what the database kept; raises `FieldErrors`."""
    raise NotImplementedError


def to_mapping(schedule: Schedule) -> dict[str, Any]:
    """The API's shape again."""
    raise NotImplementedError


def next_after(
    schedule: Schedule, job_id: UUID | None, instant: datetime, *, inclusive: bool = False
) -> Occurrence | None:
    """The first occurrence strictly after (or at) the instant."""
    raise NotImplementedError


def last_before(schedule: Schedule, job_id: UUID | None, instant: datetime) -> Occurrence | None:
    """The latest occurrence at or before the instant."""
    raise NotImplementedError


def includes(schedule: Schedule, job_id: UUID | None, scheduled_for: datetime) -> bool:
    """Whether this is one of the schedule's occurrences."""
    raise NotImplementedError


def count_between(
    schedule: Schedule, job_id: UUID | None, after: datetime, until: datetime, *, cap: int
) -> int:
    """How many occurrences lie in (after, until], at most `cap`."""
    raise NotImplementedError
