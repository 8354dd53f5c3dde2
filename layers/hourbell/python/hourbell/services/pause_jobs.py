"""Pause and resume: nothing of a paused job fires, and what its pause leaves out is on record."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING
from uuid import UUID

from hourbell.domain.ids import shard_of
from hourbell.domain.instants import floor_ms
from hourbell.domain.run_state import JobState
from hourbell.lanes.messages import LaneMessage
from hourbell.services.audit import record
from hourbell.services.errors import NotFoundError, StateError, check_version
from hourbell.services.place_job import ONE_MS, dispatched, first_to_fire, lock_job, place_job, plan_now
from hourbell.services.quotas import check_job_quota
from hourbell.services.view_jobs import Job, has_ended, read_job, view_cold_jobs
from hourbell.store import jobs
from hourbell.store.connection import Connection
from hourbell.store.jobs import StoredJob

if TYPE_CHECKING:
    from hourbell.cold.record import ColdJob
    from hourbell.domain.schedule import Schedule
    from hourbell.services.jobs import Scheduler


class Missed(StrEnum):
    """What a resumed job does about the occurrences of its pause."""

    SKIP = "skip"
    CATCH_UP = "catch_up"


def pause_job(
    scheduler: Scheduler,
    tenant_id: UUID,
    job_id: UUID,
    *,
    note: str | None,
    expected: Collection[int] | None = None,
    cold_job: ColdJob | None = None,
    now: datetime,
) -> Job:
    """Pause a job: nothing of it fires from now on, also what waits in a lane already. Idempotent.

    Raises:
        NotFoundError, VersionError; StateError for a job that has ended; QuotaError for one whose last run is planned,
        which no longer counts, where the tenant may have no more jobs.
    """

    def pause(connection: Connection) -> Job:
        stored = lock_job(connection, tenant_id, job_id, cold_job, now)
        check_version(stored.version, expected)
        if has_ended(stored):
            raise StateError("the job is completed")
        if stored.state != JobState.PAUSED or stored.note != note:
            jobs.park_due(connection, tenant_id, job_id, shard_id=shard_of(job_id))
            jobs.set_job_state(connection, tenant_id, job_id, state=JobState.PAUSED, note=note, now=floor_ms(now))
            changes = {"state": (stored.state, JobState.PAUSED), "note": (stored.note, note)}
            record(connection, tenant_id, "job", job_id, "paused", changes=changes, now=now)
            if stored.state == JobState.COMPLETED:
                check_job_quota(connection, tenant_id)
        return read_job(connection, tenant_id, job_id, now)

    return scheduler.database.run(pause)


def resume_job(
    scheduler: Scheduler,
    tenant_id: UUID,
    job_id: UUID,
    *,
    missed: Missed,
    expected: Collection[int] | None = None,
    cold_job: ColdJob | None = None,
    now: datetime,
) -> Job:
    """Let a paused job go on: after now, or from where it was paused, by its catch-up policy. Idempotent.

    Raises:
        NotFoundError, VersionError; StateError for a job that has ended.
    """

    def resume(connection: Connection) -> tuple[Job, list[LaneMessage]]:
        stored = jobs.lock_job(connection, tenant_id, job_id)
        if stored is None and cold_job is not None:
            # What is cold is not paused.
            check_version(cold_job.version, expected)
            return view_cold_jobs(connection, tenant_id, [cold_job], now=now)[0], []
        if stored is None:
            raise NotFoundError("job")
        check_version(stored.version, expected)
        if stored.state == JobState.COMPLETED and not stored.unfinished:
            raise StateError("the job is completed")
        if stored.state != JobState.PAUSED:
            return read_job(connection, tenant_id, job_id, now), []
        _resume(connection, tenant_id, stored, missed, now)
        record(connection, tenant_id, "job", job_id, "resumed", changes={"missed": (None, missed)}, now=now)
        return plan_now(scheduler, connection, tenant_id, job_id, now)

    return dispatched(scheduler, scheduler.database.run(resume), now)


def _resume(connection: Connection, tenant_id: UUID, stored: StoredJob, missed: Missed, now: datetime) -> None:
    from hourbell.domain.schedule import schedule_from_json

    job_id, parked = stored.job_id, stored.due_scheduled_for
    if missed is Missed.CATCH_UP and parked is not None and parked <= now:
        scheduled_for: datetime | None = parked
    else:
        schedule = schedule_from_json(stored.schedule)
        scheduled_for = first_to_fire(schedule, stored, now, window_ms=stored.window_ms)
        record_pause(connection, tenant_id, stored, schedule, goes_on_at=scheduled_for, now=now)
    # Whichever it is, runs that were planned already are planned once more, and counted again.
    since = now if scheduled_for is None else min(now, scheduled_for - ONE_MS)
    ahead = jobs.count_planned_ahead(connection, [job_id], now=since).get(job_id, 0)
    state = JobState.COMPLETED if scheduled_for is None else JobState.ACTIVE
    jobs.set_job_state(connection, tenant_id, job_id, state=state, note=None, unplanned=ahead, now=floor_ms(now))
    if scheduled_for is None:
        jobs.delete_due(connection, tenant_id, job_id)
    else:
        place_job(connection, tenant_id, job_id, scheduled_for, window_ms=stored.window_ms, state=state)


def record_pause(
    connection: Connection,
    tenant_id: UUID,
    stored: StoredJob,
    schedule: Schedule,
    *,
    goes_on_at: datetime | None,
    now: datetime,
) -> None:
    """Put on record what the pause leaves out: everything from where the job was parked to where it goes on."""
    from hourbell.domain.planning import CatchUp, PlannableJob, left_out
    from hourbell.services.plan_due import gather_missed
    from hourbell.store.claims import ClaimWrites, write_claim

    if stored.due_scheduled_for is None or stored.due_scheduled_for > now:
        return
    job = PlannableJob(
        job_id=stored.job_id,
        schedule=schedule,
        window_ms=stored.window_ms,
        catch_up=CatchUp(),
        runs_planned=stored.runs_planned,
        skipped=frozenset(stored.skipped),
    )
    stretch = left_out(job, stored.due_scheduled_for, goes_on_at)
    if stretch is not None:
        writes = ClaimWrites(now=floor_ms(now))
        gather_missed(writes, tenant_id, stored, stretch)
        write_claim(connection, writes)
