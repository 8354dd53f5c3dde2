"""When a job runs: `cron`, `every` or `at`, with bounds. The one place that answers "when next?".

    parse_schedule ─────┐                          next_after   last_before   includes   count_between
    schedule_from_json ─┴▶ Cron | Every | At ─▶    all of them read the same list of occurrences

Every question costs the same however far apart its ends are: nothing here walks from one occurrence to the next.
`max_runs` is carried, not applied: only the store knows how many runs a job has had.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import UUID

from hourbell.domain.cron import confirm
from hourbell.domain.errors import FieldError, FieldErrors
from hourbell.domain.instants import EPOCH, epoch_ms
from hourbell.domain.limits import MAX_INSTANT
from hourbell.domain.occurrence import Occurrence
from hourbell.domain.schedule_kinds import At, Cron, Every, Found, Gap, Repeat, Schedule
from hourbell.domain.schedule_reading import read_schedule, schedule_from_json, to_mapping

__all__ = [
    "At",
    "Cron",
    "Every",
    "Gap",
    "Repeat",
    "Schedule",
    "count_between",
    "includes",
    "last_before",
    "next_after",
    "parse_schedule",
    "schedule_from_json",
    "times_left_out",
    "to_mapping",
]

_ANY_JOB = UUID(int=0)
_ANSWERS_KEPT = 8
_LAST_MS = epoch_ms(MAX_INSTANT)
_MILLISECOND = timedelta(milliseconds=1)


def parse_schedule(mapping: object, *, now: datetime) -> Schedule:
    """From the API's shape; raises `FieldErrors` naming "schedule.cron" and so on.

    Refuses what lies in the past and what will never fire. `every` without an anchor starts counting now; with
    `"past": "run_now"` an `at` in the past becomes the next millisecond.
    """
    schedule = read_schedule(mapping, now)
    if isinstance(schedule, Cron):
        _confirm(schedule)
    if schedule.end_at is not None and schedule.end_at < now:
        raise FieldErrors([FieldError("schedule.end_at", "lies in the past")])
    if not isinstance(schedule, At) and next_after(schedule, _ANY_JOB, now) is None:
        culprit = "schedule.exclude" if schedule.exclude and schedule.end_at is None else "schedule.end_at"
        raise FieldErrors([FieldError(culprit, "leaves no time at which the job would run")])
    return schedule


def _confirm(schedule: Cron) -> None:
    try:
        confirm(schedule.expression)
    except FieldError as error:
        raise FieldErrors([error]).under("schedule") from None


def next_after(
    schedule: Schedule, job_id: UUID | None, instant: datetime, *, inclusive: bool = False
) -> Occurrence | None:
    """The first occurrence strictly after the instant (or at it); None when there is no more.

    `job_id` may be None for a schedule without H. Raises `FieldError` otherwise.
    """
    since = instant - EPOCH
    earliest = -(-since // _MILLISECOND) if inclusive else since // _MILLISECOND + 1
    if isinstance(schedule, Cron) and schedule.expression.hashed:
        return _first_from(schedule, job_id, earliest)
    answers = schedule.answers
    try:
        return answers[earliest]
    except KeyError:
        found = _first_from(schedule, job_id, earliest)
    if len(answers) >= _ANSWERS_KEPT:
        answers.clear()
    answers[earliest] = found
    return found


def _first_from(schedule: Schedule, job_id: UUID | None, earliest: int) -> Occurrence | None:
    if schedule.start_at is not None:
        earliest = max(earliest, epoch_ms(schedule.start_at))
    return _within(schedule, schedule.first_from(max(earliest, 0), job_id))


def last_before(schedule: Schedule, job_id: UUID | None, instant: datetime) -> Occurrence | None:
    """The latest occurrence at or before the instant; None when there is none."""
    return _within(schedule, schedule.last_until(min(epoch_ms(instant), _end_ms(schedule)), job_id))


def includes(schedule: Schedule, job_id: UUID | None, scheduled_for: datetime) -> bool:
    """Whether this instant is one of the schedule's occurrences."""
    found = next_after(schedule, job_id, scheduled_for, inclusive=True)
    return found is not None and found.scheduled_for == scheduled_for


def count_between(schedule: Schedule, job_id: UUID | None, after: datetime, until: datetime, *, cap: int) -> int:
    """How many occurrences lie in (after, until], at most `cap`; counted, not walked."""
    earliest = max(epoch_ms(after) + 1, 0)
    if schedule.start_at is not None:
        earliest = max(earliest, epoch_ms(schedule.start_at))
    latest = min(epoch_ms(until), _end_ms(schedule))
    return min(cap, schedule.count(earliest, latest, job_id)) if earliest <= latest else 0


def times_left_out(schedule: Schedule, job_id: UUID | None, after: datetime, until: datetime) -> Iterator[int]:
    """Wall times (seconds since 1970) that clock changes in (after, until] swallow: the first of each gap."""
    if isinstance(schedule, Cron):
        yield from schedule.zoned_for(job_id).dropped(epoch_ms(after) // 1_000, epoch_ms(until) // 1_000)


def _end_ms(schedule: Schedule) -> int:
    return _LAST_MS if schedule.end_at is None else min(_LAST_MS, epoch_ms(schedule.end_at))


def _within(schedule: Schedule, found: Found | None) -> Occurrence | None:
    if found is None:
        return None
    scheduled_for = EPOCH + timedelta(milliseconds=found[0])
    if schedule.start_at is not None and scheduled_for < schedule.start_at:
        return None
    if schedule.end_at is not None and scheduled_for > schedule.end_at:
        return None
    return Occurrence(scheduled_for=scheduled_for, note=found[1])
