"""Where a job stands in the hot table, and what its change plans at once: shared by all that change jobs.

Claims are imported where they are used: a cold start for another resource does not pay for them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from hourbell.domain.ids import shard_of
from hourbell.domain.occurrence import window_offset_ms
from hourbell.domain.run_state import JobState
from hourbell.lanes.messages import LaneMessage
from hourbell.services.errors import NotFoundError
from hourbell.services.runs import dispatch_quietly
from hourbell.services.tiers import lock_in_tiers
from hourbell.services.view_jobs import Job, read_job
from hourbell.store import jobs
from hourbell.store.connection import Connection
from hourbell.store.jobs import StoredJob

if TYPE_CHECKING:
    from hourbell.cold.record import ColdJob
    from hourbell.domain.schedule import Schedule
    from hourbell.services.jobs import Scheduler

ONE_MS = timedelta(milliseconds=1)

# Changes a job in the caller's transaction; answers it as it is then, and what is to be sent after the commit.
Change = Callable[[Connection], tuple[Job, list[LaneMessage]]]


def lock_job(
    connection: Connection, tenant_id: UUID, job_id: UUID, cold_job: ColdJob | None, now: datetime
) -> StoredJob:
    """The job, locked; a cold one is thawed.

    Raises:
        NotFoundError: the tenant has no such job.
    """
    stored = lock_in_tiers(connection, tenant_id, job_id, cold_job, now=now)
    if stored is None:
        raise NotFoundError("job")
    return stored


def first_occurrence(
    schedule: Schedule, job_id: UUID, after: datetime, skipped: Collection[datetime] = ()
) -> datetime | None:
    """The first after ``after`` that its user has not taken out."""
    from hourbell.domain.schedule import next_after

    found = next_after(schedule, job_id, after)
    while found is not None and found.scheduled_for in skipped:
        found = next_after(schedule, job_id, found.scheduled_for)
    return None if found is None else found.scheduled_for


def first_to_fire(schedule: Schedule, stored: StoredJob, now: datetime, *, window_ms: int) -> datetime | None:
    """Where a job that is placed anew goes on: after now, or where it waits for its moment in an open window.

    A window is open while its moment is ahead, by the job's window as it was or as it becomes.
    """
    unplaced = stored.due_scheduled_for
    open_ms = max(window_offset_ms(stored.job_id, one) for one in (stored.window_ms, window_ms))
    after = now
    if unplaced is not None:
        after = min(now, max(now - timedelta(milliseconds=open_ms), unplaced - ONE_MS))
    return first_occurrence(schedule, stored.job_id, after, stored.skipped)


def place_job(
    connection: Connection,
    tenant_id: UUID,
    job_id: UUID,
    scheduled_for: datetime,
    *,
    window_ms: int,
    state: JobState,
    not_before: datetime | None = None,
) -> None:
    """``not_before``: what is placed earlier was not missed; it fires then."""
    shard_id = shard_of(job_id)
    if state is JobState.PAUSED:
        jobs.park_due_at(connection, tenant_id, job_id, shard_id=shard_id, scheduled_for=scheduled_for)
        return
    fire_at = scheduled_for + timedelta(milliseconds=window_offset_ms(job_id, window_ms))
    if not_before is not None:
        fire_at = max(fire_at, not_before)
    jobs.put_due(connection, tenant_id, job_id, shard_id=shard_id, scheduled_for=scheduled_for, next_run_at=fire_at)


def plan_now(
    scheduler: Scheduler, connection: Connection, tenant_id: UUID, job_id: UUID, now: datetime
) -> tuple[Job, list[LaneMessage]]:
    """Plan what lies within the horizon, in the transaction that put it there."""
    from hourbell.services.claim_due import claim_jobs

    messages = claim_jobs(connection, [job_id], now=now, horizon=scheduler.horizon)
    return read_job(connection, tenant_id, job_id, now), messages


def rehearsed(work: Change) -> Change:
    """The same change, undone at its end, with nothing to send: it is refused as the change would be."""

    def rehearse(connection: Connection) -> tuple[Job, list[LaneMessage]]:
        with connection.transaction(force_rollback=True):
            job, _ = work(connection)
        return job, []

    return rehearse


def dispatched(scheduler: Scheduler, planned: tuple[Job, list[LaneMessage]], now: datetime) -> Job:
    """Send what was planned, after the commit; what cannot be sent is recovered later."""
    job, messages = planned
    dispatch_quietly(scheduler.database, scheduler.lanes, messages, now=now)
    return job
