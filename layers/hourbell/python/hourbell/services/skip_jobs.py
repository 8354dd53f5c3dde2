"""Skipping the next occurrence of a job: it is taken out, planned or not, and on record as ``skipped``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from hourbell.domain.instants import floor_ms, format_instant
from hourbell.domain.limits import SKIPS_MAX
from hourbell.domain.occurrence import window_offset_ms
from hourbell.domain.run_state import JobState
from hourbell.lanes.messages import LaneMessage
from hourbell.services.audit import record
from hourbell.services.errors import StateError, check_version
from hourbell.services.place_job import ONE_MS, dispatched, first_occurrence, lock_job, place_job, plan_now
from hourbell.services.quotas import check_job_quota
from hourbell.services.view_jobs import Job, accepted_schedule
from hourbell.store import jobs
from hourbell.store.connection import Connection
from hourbell.store.jobs import StoredJob

if TYPE_CHECKING:
    from hourbell.cold.record import ColdJob
    from hourbell.domain.schedule import Schedule
    from hourbell.services.jobs import Scheduler


def skip_next(
    scheduler: Scheduler,
    tenant_id: UUID,
    job_id: UUID,
    *,
    expected: Collection[int] | None = None,
    cold_job: ColdJob | None = None,
    now: datetime,
) -> Job:
    """Take out the next occurrence, planned or not; it is on record as ``skipped``. Again: the one after it.

    Raises:
        NotFoundError, VersionError; StateError for a job without a next occurrence; QuotaError where the run that was
        the job's last makes room for another, and the tenant may have no more jobs.
    """

    def skip(connection: Connection) -> tuple[Job, list[LaneMessage]]:
        stored = lock_job(connection, tenant_id, job_id, cold_job, now)
        check_version(stored.version, expected)
        _skip_next(connection, tenant_id, stored, now)
        planned = plan_now(scheduler, connection, tenant_id, job_id, now)
        if stored.state == JobState.COMPLETED:
            check_job_quota(connection, tenant_id)
        return planned

    return dispatched(scheduler, scheduler.database.run(skip), now)


def _skip_next(connection: Connection, tenant_id: UUID, stored: StoredJob, now: datetime) -> None:
    from hourbell.domain.planning import PlannedRun
    from hourbell.domain.run_state import lane_for

    schedule, job_id, unplaced = accepted_schedule(stored), stored.job_id, stored.due_scheduled_for
    if stored.state == JobState.PAUSED:
        raise StateError("the job is paused")
    after = now - timedelta(milliseconds=stored.window_ms)
    waiting = jobs.lock_next_run(connection, tenant_id, job_id, after=after, now=now)
    skipped = min((at for at in (waiting, unplaced) if at is not None), default=None)
    if skipped is None or schedule is None:
        raise StateError("the job has no next occurrence")
    kept = [at for at in stored.skipped if at > now]
    if len(kept) >= SKIPS_MAX:
        raise StateError(f"{SKIPS_MAX} occurrences ahead are skipped already; pause the job instead")
    fire_at = skipped + timedelta(milliseconds=window_offset_ms(job_id, stored.window_ms))
    run = PlannedRun(skipped, fire_at)
    jobs.skip_run(
        connection, stored, tenant_id, run, lane=lane_for(stored.timeout_ms, stored.target_kind), now=floor_ms(now)
    )
    kept.append(skipped)
    record(
        connection, tenant_id, "job", job_id, "skipped", changes={"skipped": (None, format_instant(skipped))}, now=now
    )
    state = _place_after_skip(connection, tenant_id, stored, schedule, kept)
    jobs.write_skip(
        connection,
        tenant_id,
        job_id,
        state=state,
        skipped=kept,
        # A run that was planned has been counted against max_runs.
        unplanned=int(skipped == waiting),
        now=floor_ms(now),
    )


def _place_after_skip(
    connection: Connection, tenant_id: UUID, stored: StoredJob, schedule: Schedule, skipped: Sequence[datetime]
) -> JobState:
    """Where the job goes on once the last of ``skipped`` was taken out; its state then."""
    job_id, due = stored.job_id, stored.due_scheduled_for
    last: datetime | None
    if stored.state == JobState.COMPLETED:
        # Every run it may make is planned: the one that was taken out makes room for another.
        last = jobs.find_last_planned(connection, tenant_id, job_id, after=skipped[-1] - ONE_MS)
    elif due == skipped[-1]:
        last = due
    else:
        return JobState(stored.state)
    following = None if last is None else first_occurrence(schedule, job_id, last, skipped)
    if following is None:
        jobs.delete_due(connection, tenant_id, job_id)
        return JobState.COMPLETED
    place_job(connection, tenant_id, job_id, following, window_ms=stored.window_ms, state=JobState.ACTIVE)
    return JobState.ACTIVE
