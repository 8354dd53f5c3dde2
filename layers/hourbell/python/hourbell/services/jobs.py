"""Jobs: created, edited, deleted; each in one transaction, dispatched at once where it is due soon.

An edit that changes the schedule or the window raises ``schedule_version``: runs planned for the old one are cancelled
at their lease, and the due row moves to the first occurrence after ``now`` (a changed schedule has no missed past), or
to the one whose window is still open. Any other edit leaves the due row alone, so that an occurrence that is due and
not yet claimed is not lost.

A cold job is changed by thawing it first (``services.tiers``); what is only read, or deleted, stays where it is.
``cold_job`` is where the job's address led to before the transaction; None: not to the cold tier.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from hourbell.domain.errors import FieldError, FieldErrors
from hourbell.domain.ids import new_job_id, shard_of
from hourbell.domain.instants import floor_ms
from hourbell.domain.retry import RetryPolicy, retry_policy_to_mapping
from hourbell.domain.run_state import JobState
from hourbell.lanes.messages import LaneMessage
from hourbell.lanes.sqs import Lanes
from hourbell.services.audit import job_changes, record, record_created_jobs
from hourbell.services.errors import StateError, check_version
from hourbell.services.place_job import (
    dispatched,
    first_occurrence,
    first_to_fire,
    lock_job,
    place_job,
    plan_now,
    rehearsed,
)
from hourbell.services.quotas import check_job_quota
from hourbell.services.targets import TargetDefinition, resolve_target
from hourbell.services.tiers import (
    Birth,
    birth_hour,
    claim_name,
    names_of,
)
from hourbell.services.view_jobs import Job, has_ended, read_job, view_cold_jobs
from hourbell.store import cold, jobs
from hourbell.store.connection import Connection, Database
from hourbell.store.jobs import JobValues, StoredJob

if TYPE_CHECKING:
    from hourbell.cold.objects import ColdObjects
    from hourbell.cold.record import ColdJob
    from hourbell.domain.schedule import Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduler:
    """What the use cases of jobs work with. ``horizon``: how far ahead runs are planned and sent.

    ``cold``: the cold tier's bucket; None: every job is born warm.
    """

    database: Database
    lanes: Lanes
    horizon: timedelta
    cell: int = 0
    cold: ColdObjects | None = None

    def birth_hour(self, definition: JobDefinition, *, now: datetime) -> int:
        """The hour whose bucket a new job goes to; 0: it is born warm."""
        return 0 if self.cold is None else birth_hour(definition.schedule, paused=definition.paused, now=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDefinition:
    """A checked job. ``target``: a name, a destination spelled out, or the id of the one it has already.

    ``payload``: compact JSON text; ``catch_up``: the API's shape, as it is stored.
    """

    name: str | None
    schedule: Schedule
    target: str | UUID | TargetDefinition
    payload: str
    window_ms: int
    catch_up: Mapping[str, Any]
    overlap: str
    retry: RetryPolicy
    timeout_ms: int
    tags: Mapping[str, str]
    paused: bool


_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

# Answers the edited definition for the job as it is; must have no effect of its own.
ReviseJob = Callable[[StoredJob], JobDefinition]


def create_job(
    scheduler: Scheduler, tenant_id: UUID, definition: JobDefinition, *, dry_run: bool = False, now: datetime
) -> Job:
    """Create a job, and send its runs when the first lies within the horizon. A far-future one-off is born cold.

    ``dry_run``: undo all of it; the job is what it would be.

    Raises:
        FieldErrors: the target is unknown, or the schedule has no occurrence left.
        ConflictError: the name is taken. QuotaError: the tenant may have no more jobs.
    """
    due_hour = scheduler.birth_hour(definition, now=now)
    job_id = new_job_id(now, cell=scheduler.cell, due_hour=due_hour)
    first = first_occurrence(definition.schedule, job_id, now)
    if first is None:
        raise exhausted()
    state = JobState.PAUSED if definition.paused else JobState.ACTIVE

    def create(connection: Connection) -> tuple[Job, list[LaneMessage]]:
        claim_name(connection, tenant_id, definition.name, job_id)
        target_id = resolve_target(connection, tenant_id, definition.target, now=now)
        values = job_values(definition, target_id, state)
        if due_hour and cold.share_buckets(connection, [due_hour]):
            birth = Birth(job_id=job_id, values=values, scheduled_for=first, created_at=floor_ms(now))
            (accepted,) = accept_cold_jobs(connection, tenant_id, [birth.as_cold_job(tenant_id)], now=now)
            check_job_quota(connection, tenant_id)
            return accepted, []
        if not jobs.insert_job(connection, tenant_id, job_id, values, now=floor_ms(now)):
            # The connection broke after the commit: the job is there, and the reaper sends what it planned.
            return read_job(connection, tenant_id, job_id, now), []
        record_created_jobs(connection, tenant_id, [job_id], now=now)
        place_job(connection, tenant_id, job_id, first, window_ms=definition.window_ms, state=state)
        planned = plan_now(scheduler, connection, tenant_id, job_id, now)
        check_job_quota(connection, tenant_id)
        return planned

    return dispatched(scheduler, scheduler.database.run(rehearsed(create) if dry_run else create), now)


def accept_cold_jobs(connection: Connection, tenant_id: UUID, born: Sequence[ColdJob], *, now: datetime) -> list[Job]:
    """Put new jobs into the intake. Their names are claimed, and their buckets held open."""
    from hourbell.services import cold_jobs

    if names := names_of(born):
        cold.hold_names(connection, tenant_id, names)
    cold_jobs.add_cold_jobs(connection, tenant_id, born, now=floor_ms(now))
    record_created_jobs(connection, tenant_id, [job.job_id for job in born], now=now)
    return view_cold_jobs(connection, tenant_id, born, now=now)


def edit_job(
    scheduler: Scheduler,
    tenant_id: UUID,
    job_id: UUID,
    revise: ReviseJob,
    *,
    expected: Collection[int] | None = None,
    cold_job: ColdJob | None = None,
    dry_run: bool = False,
    now: datetime,
) -> Job:
    """Edit a job: ``revise`` makes the new definition of the present one, under the job's lock.

    ``dry_run``: undo all of it; the job is what it would be.

    Raises:
        NotFoundError, VersionError, FieldErrors, ConflictError; StateError for a pause of a job that has ended;
        QuotaError for an edit that brings one back where the tenant may have no more jobs.
    """

    def edit(connection: Connection) -> tuple[Job, list[LaneMessage]]:
        stored = lock_job(connection, tenant_id, job_id, cold_job, now)
        check_version(stored.version, expected)
        if _write_edit(connection, tenant_id, stored, revise(stored), now):
            planned = plan_now(scheduler, connection, tenant_id, job_id, now)
            if stored.state == JobState.COMPLETED:
                check_job_quota(connection, tenant_id)
            return planned
        return read_job(connection, tenant_id, job_id, now), []

    return dispatched(scheduler, scheduler.database.run(rehearsed(edit) if dry_run else edit), now)


def delete_job(
    scheduler: Scheduler,
    tenant_id: UUID,
    job_id: UUID,
    *,
    expected: Collection[int] | None = None,
    cold_job: ColdJob | None = None,
    now: datetime,
) -> None:
    """Delete a job; its runs stay on record, and those that wait are cancelled at their lease.

    Raises:
        NotFoundError, VersionError.
    """

    def take_cold(connection: Connection, cold_job: ColdJob) -> bool:
        from hourbell.services.cold_jobs import take_cold_job

        return take_cold_job(connection, cold_job, now=now)

    def delete(connection: Connection) -> None:
        if cold_job is not None and take_cold(connection, cold_job):
            check_version(cold_job.version, expected)
            name = cold_job.name
        else:
            stored = lock_job(connection, tenant_id, job_id, None, now)
            check_version(stored.version, expected)
            jobs.delete_due(connection, tenant_id, job_id)
            state = JobState.DELETED
            jobs.set_job_state(connection, tenant_id, job_id, state=state, note=stored.note, now=floor_ms(now))
            name = stored.name
        record(connection, tenant_id, "job", job_id, "deleted", changes={"name": (name, None)}, now=now)

    scheduler.database.run(delete)


def exhausted() -> FieldErrors:
    """What a schedule without a future is refused with."""
    return FieldErrors([FieldError("schedule", "has no occurrence after now")])


def job_values(definition: JobDefinition, target_id: UUID, state: JobState) -> JobValues:
    """As it is stored."""
    return JobValues(
        name=definition.name,
        target_id=target_id,
        state=state,
        schedule=schedule_text(definition.schedule),
        payload=definition.payload,
        window_ms=definition.window_ms,
        catch_up=_json(definition.catch_up),
        overlap=definition.overlap,
        retry=_json(retry_policy_to_mapping(definition.retry)),
        timeout_ms=definition.timeout_ms,
        tags=_json(definition.tags),
    )


def schedule_text(schedule: Schedule) -> str:
    """The one spelling in which a schedule is stored: equal schedules, equal texts."""
    from hourbell.domain.schedule import to_mapping

    return _json(to_mapping(schedule))


def _json(value: Any) -> str:
    return _COMPACT.encode(value)


def _write_edit(
    connection: Connection, tenant_id: UUID, stored: StoredJob, definition: JobDefinition, now: datetime
) -> bool:
    """Write an edit; whether it gave the job another place in the hot table."""
    job_id = stored.job_id
    if definition.name != stored.name:
        claim_name(connection, tenant_id, definition.name, job_id)
    moved = schedule_text(definition.schedule) != stored.schedule or definition.window_ms != stored.window_ms
    state = _edited_state(stored, paused=definition.paused, moved=moved)
    # Jobs that lost their place start anew from here: resumed by the edit, or once found impossible to plan.
    placed = moved or (state is JobState.ACTIVE and (stored.state == JobState.PAUSED or bool(stored.error)))
    first = first_to_fire(definition.schedule, stored, now, window_ms=definition.window_ms) if placed else None
    if placed and first is None:
        if moved:
            raise exhausted()
        state = JobState.COMPLETED
    target_id = resolve_target(connection, tenant_id, definition.target, now=now)
    ahead = jobs.count_planned_ahead(connection, [job_id], now=now).get(job_id, 0) if placed else 0
    values = job_values(definition, target_id, state)
    jobs.update_job(
        connection,
        tenant_id,
        job_id,
        values,
        schedule_step=int(moved),
        unplanned=ahead,
        error=None if placed else stored.error,
        now=floor_ms(now),
    )
    if target_id != stored.target_id:
        from hourbell.store.pulls import wake_pulled

        wake_pulled(connection, job_id=job_id, now=now)
    changes = job_changes(stored, values)
    if changes:
        record(connection, tenant_id, "job", job_id, "edited", changes=changes, now=now)
    if placed and not moved and stored.state == JobState.PAUSED:
        from hourbell.services.pause_jobs import record_pause

        record_pause(connection, tenant_id, stored, definition.schedule, goes_on_at=first, now=now)
    if first is not None:
        place_job(connection, tenant_id, job_id, first, window_ms=definition.window_ms, state=state, not_before=now)
    elif state is JobState.COMPLETED:
        jobs.delete_due(connection, tenant_id, job_id)
    elif state is JobState.PAUSED:
        jobs.park_due(connection, tenant_id, job_id, shard_id=shard_of(job_id))
    return first is not None


def _edited_state(stored: StoredJob, *, paused: bool, moved: bool) -> JobState:
    if paused:
        if has_ended(stored) and not moved:
            raise StateError("the job is completed")
        return JobState.PAUSED
    if moved or stored.state == JobState.PAUSED:
        return JobState.ACTIVE
    return JobState(stored.state)
