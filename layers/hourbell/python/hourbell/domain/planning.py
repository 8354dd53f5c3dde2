"""What one claim makes of one due job: a pure decision from (job, now, horizon).

A claim moves a job's place in the hot table from its oldest unplanned occurrence to the first one past the horizon:

    missed ──────────────┐ late but current ─┐ ahead, up to the horizon ─┐
    ─────────────────────┴── now - grace ─────┴── now ────────────────────┴── until ──▶ next_run_at

Occurrences older than ``MISFIRE_GRACE`` are missed (an outage), and the catch-up policy decides about them; all others
get a run. Work is bounded: at most ``limit`` runs a claim, and missed stretches are counted, not walked.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from uuid import UUID

from hourbell.domain.occurrence import window_offset_ms
from hourbell.domain.schedule import (
    Cron,
    Schedule,
    count_between,
    last_before,
    next_after,
)

# An occurrence this late was missed, not merely delayed: ticks come every minute, and twice the tick is still normal.
MISFIRE_GRACE = timedelta(seconds=120)

# Runs planned for one job in one claim; what is left stays due and is claimed in the next round.
RUNS_PER_CLAIM = 1_000

# Missed occurrences counted exactly up to here.
MISSED_COUNT_CAP = 1_000_000

# A missed stretch of up to so many occurrences also gets a run record for each, in state skipped.
MISSED_RUNS = 100


REASON_MISSED = "missed"
REASON_PAUSED = "paused"

_ONE_MS = timedelta(milliseconds=1)


class CatchUpPolicy(StrEnum):
    """What happens to missed occurrences: the latest is run, each is run, none is run."""

    RUN_ONCE = "run_once"
    RUN_ALL = "run_all"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUp:
    """Catch-up policy; ``within`` bounds how far back an occurrence may be caught up with."""

    policy: CatchUpPolicy = CatchUpPolicy.RUN_ONCE
    within: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannableJob:
    """What planning needs of a job. ``skipped``: occurrences its user took out; they get no run and are not counted."""

    job_id: UUID
    schedule: Schedule
    window_ms: int
    catch_up: CatchUp
    runs_planned: int
    skipped: frozenset[datetime] = frozenset()


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """An occurrence that gets a run; ``fire_at`` = ``scheduled_for`` + window offset."""

    scheduled_for: datetime
    fire_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedStretch:
    """Occurrences that are not run, both ends included. ``each``: all of them, where they are few."""

    first: datetime
    last: datetime
    occurrences: int
    reason: str
    each: tuple[datetime, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The outcome: runs to insert, what was missed, and the job's next place (None: the schedule has ended)."""

    runs: tuple[PlannedRun, ...]
    next: PlannedRun | None
    missed: tuple[MissedStretch, ...] = field(default=())


def plans_alike(job: PlannableJob) -> bool:
    """Whether every job with this schedule and catch-up policy gets the same plan at the same moment.

    Thousands of jobs share ``0 0 * * *``; only H, a window, a run limit and occurrences taken out
    make one differ from the next.
    """
    schedule = job.schedule
    hashed = isinstance(schedule, Cron) and schedule.expression.hashed
    return not hashed and not job.window_ms and not job.skipped and schedule.max_runs is None


def plan(
    job: PlannableJob,
    *,
    scheduled_for: datetime,
    now: datetime,
    until: datetime,
    next_run_at: datetime | None = None,
    limit: int = RUNS_PER_CLAIM,
) -> Plan:
    """Plan a job whose oldest unplanned occurrence is ``scheduled_for``, up to the horizon ``until``.

    ``next_run_at``: when that occurrence was to be claimed; later than its own time where its target's pace said so,
    and then it was not missed before that.
    """
    offset = timedelta(milliseconds=window_offset_ms(job.job_id, job.window_ms)) if job.window_ms else timedelta(0)
    missed: tuple[MissedStretch, ...] = ()
    at: datetime | None = scheduled_for
    wanted = scheduled_for + offset if next_run_at is None else max(next_run_at, scheduled_for + offset)
    if wanted < now - MISFIRE_GRACE:
        at, missed = _catch_up(job, scheduled_for, now, offset)
    left = None if job.schedule.max_runs is None else job.schedule.max_runs - job.runs_planned
    runs: list[PlannedRun] = []
    while at is not None and (left is None or len(runs) < left):
        fire_at = at + offset
        if fire_at > until or len(runs) >= limit:
            return Plan(runs=tuple(runs), next=PlannedRun(at, fire_at), missed=missed)
        if at not in job.skipped:
            runs.append(PlannedRun(at, fire_at))
        following = next_after(job.schedule, job.job_id, at)
        at = None if following is None else following.scheduled_for
    return Plan(runs=tuple(runs), next=None, missed=missed)


def _catch_up(
    job: PlannableJob, oldest: datetime, now: datetime, offset: timedelta
) -> tuple[datetime | None, tuple[MissedStretch, ...]]:
    """Where to go on after an outage, and what is left behind."""
    policy = job.catch_up.policy
    latest = last_before(job.schedule, job.job_id, now - offset)
    if latest is None or latest.scheduled_for < oldest:  # the due row is of an older schedule: run it, once
        return oldest, ()
    within = job.catch_up.within
    start = oldest
    if policy is CatchUpPolicy.RUN_ONCE:
        start = latest.scheduled_for
    elif policy is CatchUpPolicy.SKIP:
        current = next_after(job.schedule, job.job_id, now - offset - MISFIRE_GRACE, inclusive=True)
        return _skip_until(job, oldest, None if current is None else current.scheduled_for)
    if within is not None and start + offset < now - within:
        reachable = next_after(job.schedule, job.job_id, max(now - within - offset, start), inclusive=True)
        return _skip_until(job, oldest, None if reachable is None else reachable.scheduled_for)
    return _skip_until(job, oldest, start)


def _skip_until(
    job: PlannableJob, oldest: datetime, start: datetime | None
) -> tuple[datetime | None, tuple[MissedStretch, ...]]:
    """Leave out [oldest, start): counted, with both its ends."""
    if start is not None and start <= oldest:
        return oldest, ()
    last = _last_missed(job, start)
    if last is None or last < oldest:
        return start, ()
    occurrences = count_between(job.schedule, job.job_id, oldest - _ONE_MS, last, cap=MISSED_COUNT_CAP)
    each = _each(job, oldest, last) if occurrences <= MISSED_RUNS else ()
    stretch = MissedStretch(first=oldest, last=last, occurrences=max(1, occurrences), reason=REASON_MISSED, each=each)
    return start, (stretch,)


def left_out(job: PlannableJob, oldest: datetime, start: datetime | None) -> MissedStretch | None:
    """What a pause that ends without catching up leaves out: [``oldest``, ``start``)."""
    _, missed = _skip_until(job, oldest, start)
    return replace(missed[0], reason=REASON_PAUSED) if missed else None


def _each(job: PlannableJob, first: datetime, last: datetime) -> tuple[datetime, ...]:
    """The occurrences of a short stretch; its first is the due row's, whatever the schedule says of it now."""
    found, at = [first], first
    while at < last and len(found) < MISSED_RUNS:
        following = next_after(job.schedule, job.job_id, at)
        if following is None or following.scheduled_for > last:
            break
        at = following.scheduled_for
        found.append(at)
    return tuple(found)


def _last_missed(job: PlannableJob, start: datetime | None) -> datetime | None:
    before = (start - _ONE_MS) if start is not None else datetime.max.replace(tzinfo=UTC)
    last = last_before(job.schedule, job.job_id, before)
    return None if last is None else last.scheduled_for
