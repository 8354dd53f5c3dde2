"""Backfills: runs for occurrences that have gone by and have none.

    occurrences of [from, to) ──▶ those without a run ──▶ the first: sent at once, at the target's pace
                                                     └──▶ the others: spread over time, sent by the reaper

An occurrence has one run, whoever made it: what is there stays as it is. A paused job can be backfilled; ``max_runs``
and the window have no say. ``domain/backfill.py`` says how fast it goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from hourbell.domain.backfill import FIRST_SPAN, LATER, REASON_WAITS, backfill_pace, first_at_once, moments
from hourbell.domain.errors import FieldError, FieldErrors, HourbellError
from hourbell.domain.ids import run_id
from hourbell.domain.instants import floor_ms
from hourbell.domain.limits import BACKFILL_MAX
from hourbell.domain.pacing import Pace, reserve
from hourbell.domain.recovery import WAKE_EARLY, WAKE_GRACE
from hourbell.domain.run_state import lane_for
from hourbell.domain.schedule import At, Schedule, count_between, next_after, schedule_from_json
from hourbell.lanes.messages import LaneMessage
from hourbell.services.errors import NotFoundError, StateError
from hourbell.services.jobs import Scheduler
from hourbell.services.runs import dispatch_quietly
from hourbell.store import backfills, jobs, pacing, targets
from hourbell.store.backfills import BackfillRun
from hourbell.store.connection import Connection
from hourbell.store.jobs import StoredJob

if TYPE_CHECKING:
    from hourbell.cold.record import ColdJob

_ONE_MS = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfilledOccurrence:
    """An occurrence of the span. ``existing``: the state of the run that it had; None: it gets one, or would."""

    scheduled_for: datetime
    run_id: UUID
    existing: str | None


class Span(NamedTuple):
    """[``from_at``, ``to_at``)."""

    from_at: datetime
    to_at: datetime


def backfill_job(
    scheduler: Scheduler,
    tenant_id: UUID,
    job_id: UUID,
    span: Span,
    *,
    dry_run: bool,
    cold_job: ColdJob | None = None,
    now: datetime,
) -> list[BackfilledOccurrence]:
    """Run what the job's present schedule has in the span and has no run; up to ``BACKFILL_MAX`` occurrences.

    Raises:
        NotFoundError: the tenant has no such job.
        FieldErrors: the span is upside down, lies in the future, or holds too many occurrences.
        StateError: a one-off, a schedule that is no longer accepted, or runs that may not overlap.
    """
    _check_span(span, now)
    if cold_job is not None:
        raise _one_off()
    at = floor_ms(now)

    def look(connection: Connection) -> list[BackfilledOccurrence]:
        return _look(connection, tenant_id, jobs.fetch_job(connection, tenant_id, job_id), span)

    def backfill(connection: Connection) -> tuple[list[BackfilledOccurrence], list[LaneMessage]]:
        job = jobs.lock_job(connection, tenant_id, job_id)
        found = _look(connection, tenant_id, job, span)
        wanted = [one.scheduled_for for one in found if one.existing is None]
        if job is None or not wanted:
            return found, []
        return found, _insert(connection, tenant_id, job, wanted, at)

    if dry_run:
        return scheduler.database.run(look)
    found, messages = scheduler.database.run(backfill)
    dispatch_quietly(scheduler.database, scheduler.lanes, messages, now=now)
    return found


def _check_span(span: Span, now: datetime) -> None:
    if span.to_at > now:
        raise FieldErrors([FieldError("to", "lies in the future; what is to come is run by the schedule")])
    if span.from_at >= span.to_at:
        raise FieldErrors([FieldError("to", "must lie after from")])


def _look(connection: Connection, tenant_id: UUID, job: StoredJob | None, span: Span) -> list[BackfilledOccurrence]:
    if job is None:
        raise NotFoundError("job")
    times = _occurrences(_schedule(job), job.job_id, span)
    runs = backfills.find_runs_of_job(connection, tenant_id, job.job_id, times) if times else {}
    return [
        BackfilledOccurrence(scheduled_for=at, run_id=run_id(job.job_id, at), existing=runs.get(at)) for at in times
    ]


def _schedule(job: StoredJob) -> Schedule:
    try:
        schedule = schedule_from_json(job.schedule)
    except (HourbellError, ValueError, LookupError) as error:
        raise StateError(f"the job's schedule is no longer accepted: {error}") from None
    if isinstance(schedule, At):
        raise _one_off()
    if job.overlap != "allow":
        raise StateError(f"the job's runs may not overlap (overlap: {job.overlap}), and those of a backfill would")
    return schedule


def _one_off() -> StateError:
    return StateError("the job is a one-off: trigger it, or retry its run")


def _occurrences(schedule: Schedule, job_id: UUID, span: Span) -> list[datetime]:
    if (
        count_between(schedule, job_id, span.from_at - _ONE_MS, span.to_at - _ONE_MS, cap=BACKFILL_MAX + 1)
        > BACKFILL_MAX
    ):
        detail = f"lies more than {BACKFILL_MAX} occurrences after from; backfill the span in parts"
        raise FieldErrors([FieldError("to", detail)])
    times: list[datetime] = []
    found = next_after(schedule, job_id, span.from_at, inclusive=True)
    while found is not None and found.scheduled_for < span.to_at:
        times.append(found.scheduled_for)
        found = next_after(schedule, job_id, found.scheduled_for)
    return times


def _insert(
    connection: Connection, tenant_id: UUID, job: StoredJob, wanted: Sequence[datetime], now: datetime
) -> list[LaneMessage]:
    """Insert the runs; answers the messages of those that start at once."""
    target = targets.fetch_target(connection, tenant_id, job.target_id)
    rate, slots = (None, None) if target is None else (target.rate_per_second, target.max_concurrency)
    pace = backfill_pace(rate_per_second=rate, max_concurrency=slots)
    first = first_at_once(pace, limited=rate is not None or slots is not None)
    near = _reserved(connection, job.target_id, moments(min(first, len(wanted)), now, pace), now)
    far = moments(len(wanted) - len(near), now + LATER, pace)
    runs = [
        *(BackfillRun(at, fire_at, fire_at + WAKE_GRACE, None) for at, fire_at in zip(wanted, near, strict=False)),
        *(
            BackfillRun(at, fire_at, fire_at - WAKE_EARLY, REASON_WAITS)
            for at, fire_at in zip(wanted[len(near) :], far, strict=True)
        ),
    ]
    lane = lane_for(job.timeout_ms, job.target_kind)
    inserted = backfills.insert_backfill_runs(connection, tenant_id, job, runs, lane=lane, now=now)
    return [
        LaneMessage(
            job_id=job.job_id, scheduled_for=run.scheduled_for, tenant_id=tenant_id, lane=lane, ready_at=run.fire_at
        )
        for run in runs
        if run.reason is None and run.scheduled_for in inserted
    ]


def _reserved(connection: Connection, target_id: UUID, wanted: Sequence[datetime], now: datetime) -> Sequence[datetime]:
    """The moments that a rate-limited target has for these soon; all of them where it has no limit."""
    for target in pacing.lock_paced_targets(connection, [target_id]):
        pace, tat = Pace(rate_per_second=target.rate_per_second, burst=target.burst), target.tat
        given: list[datetime] = []
        for moment in wanted:
            release, following = reserve(pace, tat, moment)
            if release - now > FIRST_SPAN * 2:
                break
            given.append(floor_ms(release))
            tat = following
        if tat is not None:
            pacing.write_arrival_times(connection, {target_id: tat})
        return given
    return wanted
