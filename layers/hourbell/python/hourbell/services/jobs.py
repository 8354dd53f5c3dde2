"""Jobs: created, edited, paused, resumed, deleted; each in one transaction, dispatched at once where it is due soon.

What a user sees of a job's future is computed from its schedule, not from the hot table: a claim moves the due row past
the horizon ahead of time, and completes a one-off as soon as its run is planned. So

- a ``completed`` job with a run that has not ended is shown as ``active``;
- ``next_runs`` start with the due row's occurrence when that is overdue, and go on with what follows ``now``.

An edit that changes the schedule or the window raises ``schedule_version``: runs planned for the old one are cancelled
at their lease, and the due row moves to the first occurrence after ``now`` (a changed schedule has no missed past), or
to the one whose window is still open. Any other edit leaves the due row alone, so that an occurrence that is due and
not yet claimed is not lost.

A cold job is changed by thawing it first (``services.tiers``); what is only read, or deleted, stays where it is.
``cold_job`` is where the job's address led to before the transaction; None: not to the cold tier.

Schedules and claims are imported where they are used: a cold start for another resource does not pay for them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from hourbell.domain.cold import Tier
from hourbell.domain.errors import FieldError, FieldErrors, HourbellError
from hourbell.domain.ids import new_job_id, shard_of
from hourbell.domain.instants import floor_ms, format_instant
from hourbell.domain.limits import SKIPS_MAX
from hourbell.domain.occurrence import window_offset_ms
from hourbell.domain.retry import RetryPolicy, retry_policy_to_mapping
from hourbell.domain.run_state import JobState
from hourbell.lanes.messages import LaneMessage
from hourbell.lanes.sqs import Lanes
from hourbell.services.audit import job_changes, record, record_created_jobs
from hourbell.services.errors import NotFoundError, StateError, check_version
from hourbell.services.quotas import check_job_quota
from hourbell.services.runs import dispatch_quietly
from hourbell.services.targets import TargetDefinition, resolve_target
from hourbell.services.tiers import (
    Birth,
    as_stored,
    birth_hour,
    claim_name,
    lock_in_tiers,
    names_of,
)
from hourbell.store import cold, jobs
from hourbell.store.connection import Connection, Database
from hourbell.store.jobs import JobFilter, JobValues, StoredJob

if TYPE_CHECKING:
    from hourbell.cold.objects import ColdObjects
    from hourbell.cold.record import ColdJob
    from hourbell.domain.preview import PreviewedOccurrence
    from hourbell.domain.schedule import Schedule

NEXT_RUNS = 5

_ONE_MS = timedelta(milliseconds=1)


class Missed(StrEnum):
    """What a resumed job does about the occurrences of its pause."""

    SKIP = "skip"
    CATCH_UP = "catch_up"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as its user sees it. ``next_runs``: up to five occurrences that have not fired."""

    stored: StoredJob
    state: JobState
    next_runs: tuple[datetime, ...]
    tier: Tier = Tier.HOT


@dataclass(frozen=True, slots=True, kw_only=True)
class Upcoming:
    """The next occurrences, and the schedule in plain words; None where it is no longer accepted."""

    description: str | None
    occurrences: Sequence[PreviewedOccurrence]


# Answers the edited definition for the job as it is; must have no effect of its own.
ReviseJob = Callable[[StoredJob], JobDefinition]


def create_job(scheduler: Scheduler, tenant_id: UUID, definition: JobDefinition, *, now: datetime) -> Job:
    """Create a job, and send its runs when the first lies within the horizon. A far-future one-off is born cold.

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
            return _read(connection, tenant_id, job_id, now), []
        record_created_jobs(connection, tenant_id, [job_id], now=now)
        _place(connection, tenant_id, job_id, first, window_ms=definition.window_ms, state=state)
        planned = _planned(scheduler, connection, tenant_id, job_id, now)
        check_job_quota(connection, tenant_id)
        return planned

    return _dispatched(scheduler, scheduler.database.run(create), now)


def accept_cold_jobs(connection: Connection, tenant_id: UUID, born: Sequence[ColdJob], *, now: datetime) -> list[Job]:
    """Put new jobs into the intake. Their names are claimed, and their buckets held open."""
    from hourbell.services import cold_jobs

    if names := names_of(born):
        cold.hold_names(connection, tenant_id, names)
    cold_jobs.add_cold_jobs(connection, tenant_id, born, now=floor_ms(now))
    record_created_jobs(connection, tenant_id, [job.job_id for job in born], now=now)
    return view_cold_jobs(connection, tenant_id, born, now=now)


def get_job(
    scheduler: Scheduler, tenant_id: UUID, job_id: UUID, *, cold_job: ColdJob | None = None, now: datetime
) -> Job:
    """One job, from whichever tier it is in.

    Raises:
        NotFoundError: the tenant has no such job.
    """

    def read(connection: Connection) -> Job:
        stored = jobs.fetch_job(connection, tenant_id, job_id)
        if stored is None and cold_job is not None:
            return view_cold_jobs(connection, tenant_id, [cold_job], now=now)[0]
        return _viewed(connection, stored, now)

    return scheduler.database.run(read)


def list_jobs(
    scheduler: Scheduler,
    tenant_id: UUID,
    only: JobFilter,
    *,
    before_id: UUID | None = None,
    limit: int,
    now: datetime,
) -> list[Job]:
    """A page of jobs, newest first."""

    def read(connection: Connection) -> list[Job]:
        stored = jobs.list_jobs(connection, tenant_id, only, before_id=before_id, limit=limit, now=now)
        return view_jobs(connection, stored, now)

    return scheduler.database.run(read)


def edit_job(
    scheduler: Scheduler,
    tenant_id: UUID,
    job_id: UUID,
    revise: ReviseJob,
    *,
    expected: Collection[int] | None = None,
    cold_job: ColdJob | None = None,
    now: datetime,
) -> Job:
    """Edit a job: ``revise`` makes the new definition of the present one, under the job's lock.

    Raises:
        NotFoundError, VersionError, FieldErrors, ConflictError; StateError for a pause of a job that has ended;
        QuotaError for an edit that brings one back where the tenant may have no more jobs.
    """

    def edit(connection: Connection) -> tuple[Job, list[LaneMessage]]:
        stored = _locked(connection, tenant_id, job_id, cold_job, now)
        check_version(stored.version, expected)
        if _write_edit(connection, tenant_id, stored, revise(stored), now):
            planned = _planned(scheduler, connection, tenant_id, job_id, now)
            if stored.state == JobState.COMPLETED:
                check_job_quota(connection, tenant_id)
            return planned
        return _read(connection, tenant_id, job_id, now), []

    return _dispatched(scheduler, scheduler.database.run(edit), now)


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
        NotFoundError, VersionError; StateError for a job that has ended.
    """

    def pause(connection: Connection) -> Job:
        stored = _locked(connection, tenant_id, job_id, cold_job, now)
        check_version(stored.version, expected)
        if _has_ended(stored):
            raise StateError("the job is completed")
        if stored.state != JobState.PAUSED or stored.note != note:
            jobs.park_due(connection, tenant_id, job_id, shard_id=shard_of(job_id))
            jobs.set_job_state(connection, tenant_id, job_id, state=JobState.PAUSED, note=note, now=floor_ms(now))
            changes = {"state": (stored.state, JobState.PAUSED), "note": (stored.note, note)}
            record(connection, tenant_id, "job", job_id, "paused", changes=changes, now=now)
        return _read(connection, tenant_id, job_id, now)

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
            return _read(connection, tenant_id, job_id, now), []
        _resume(connection, tenant_id, stored, missed, now)
        record(connection, tenant_id, "job", job_id, "resumed", changes={"missed": (None, missed)}, now=now)
        return _planned(scheduler, connection, tenant_id, job_id, now)

    return _dispatched(scheduler, scheduler.database.run(resume), now)


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
        stored = _locked(connection, tenant_id, job_id, cold_job, now)
        check_version(stored.version, expected)
        _skip_next(connection, tenant_id, stored, now)
        planned = _planned(scheduler, connection, tenant_id, job_id, now)
        if stored.state == JobState.COMPLETED:
            check_job_quota(connection, tenant_id)
        return planned

    return _dispatched(scheduler, scheduler.database.run(skip), now)


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
            stored = _locked(connection, tenant_id, job_id, None, now)
            check_version(stored.version, expected)
            jobs.delete_due(connection, tenant_id, job_id)
            state = JobState.DELETED
            jobs.set_job_state(connection, tenant_id, job_id, state=state, note=stored.note, now=floor_ms(now))
            name = stored.name
        record(connection, tenant_id, "job", job_id, "deleted", changes={"name": (name, None)}, now=now)

    scheduler.database.run(delete)


def list_upcoming(
    scheduler: Scheduler,
    tenant_id: UUID,
    job_id: UUID,
    *,
    count: int,
    cold_job: ColdJob | None = None,
    now: datetime,
) -> Upcoming:
    """The next occurrences by the schedule alone, as a preview shows them; none for a job that has ended.

    Raises:
        NotFoundError: the tenant has no such job.
    """
    from hourbell.domain.description import describe
    from hourbell.domain.preview import preview

    def read(connection: Connection) -> tuple[StoredJob, int | None]:
        stored = jobs.fetch_job(connection, tenant_id, job_id)
        if stored is None and cold_job is not None:
            return as_stored(connection, tenant_id, [cold_job], now=now)[0], None
        if stored is None:
            raise NotFoundError("job")
        return stored, _runs_left(stored, jobs.count_planned_ahead(connection, [job_id], now=now))

    stored, left = scheduler.database.run(read)
    schedule = _accepted_schedule(stored)
    if schedule is None:
        return Upcoming(description=None, occurrences=[])
    count = 0 if _has_ended(stored) else count if left is None else min(count, left)
    found = preview(schedule, job_id=job_id, after=now, count=count, skipped=stored.skipped)
    return Upcoming(description=describe(schedule, job_id=job_id), occurrences=found)


# --- what is written ---


def first_occurrence(
    schedule: Schedule, job_id: UUID, after: datetime, skipped: Collection[datetime] = ()
) -> datetime | None:
    """The first after ``after`` that its user has not taken out."""
    from hourbell.domain.schedule import next_after

    found = next_after(schedule, job_id, after)
    while found is not None and found.scheduled_for in skipped:
        found = next_after(schedule, job_id, found.scheduled_for)
    return None if found is None else found.scheduled_for


def _first_to_fire(schedule: Schedule, stored: StoredJob, now: datetime, *, window_ms: int) -> datetime | None:
    """Where a job that is placed anew goes on: after now, or where it waits for its moment in an open window.

    A window is open while its moment is ahead, by the job's window as it was or as it becomes.
    """
    unplaced = stored.due_scheduled_for
    open_ms = max(window_offset_ms(stored.job_id, one) for one in (stored.window_ms, window_ms))
    after = now
    if unplaced is not None:
        after = min(now, max(now - timedelta(milliseconds=open_ms), unplaced - _ONE_MS))
    return first_occurrence(schedule, stored.job_id, after, stored.skipped)


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
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _place(
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
    first = _first_to_fire(definition.schedule, stored, now, window_ms=definition.window_ms) if placed else None
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
        _record_pause(connection, tenant_id, stored, definition.schedule, goes_on_at=first, now=now)
    if first is not None:
        _place(connection, tenant_id, job_id, first, window_ms=definition.window_ms, state=state, not_before=now)
    elif state is JobState.COMPLETED:
        jobs.delete_due(connection, tenant_id, job_id)
    elif state is JobState.PAUSED:
        jobs.park_due(connection, tenant_id, job_id, shard_id=shard_of(job_id))
    return first is not None


def _edited_state(stored: StoredJob, *, paused: bool, moved: bool) -> JobState:
    if paused:
        if _has_ended(stored) and not moved:
            raise StateError("the job is completed")
        return JobState.PAUSED
    if moved or stored.state == JobState.PAUSED:
        return JobState.ACTIVE
    return JobState(stored.state)


def _resume(connection: Connection, tenant_id: UUID, stored: StoredJob, missed: Missed, now: datetime) -> None:
    from hourbell.domain.schedule import schedule_from_json

    job_id, parked = stored.job_id, stored.due_scheduled_for
    if missed is Missed.CATCH_UP and parked is not None and parked <= now:
        scheduled_for: datetime | None = parked
    else:
        schedule = schedule_from_json(stored.schedule)
        scheduled_for = _first_to_fire(schedule, stored, now, window_ms=stored.window_ms)
        _record_pause(connection, tenant_id, stored, schedule, goes_on_at=scheduled_for, now=now)
    # Whichever it is, runs that were planned already are planned once more, and counted again.
    since = now if scheduled_for is None else min(now, scheduled_for - _ONE_MS)
    ahead = jobs.count_planned_ahead(connection, [job_id], now=since).get(job_id, 0)
    state = JobState.COMPLETED if scheduled_for is None else JobState.ACTIVE
    jobs.set_job_state(connection, tenant_id, job_id, state=state, note=None, unplanned=ahead, now=floor_ms(now))
    if scheduled_for is None:
        jobs.delete_due(connection, tenant_id, job_id)
    else:
        _place(connection, tenant_id, job_id, scheduled_for, window_ms=stored.window_ms, state=state)


def _record_pause(
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


def _skip_next(connection: Connection, tenant_id: UUID, stored: StoredJob, now: datetime) -> None:
    from hourbell.domain.planning import PlannedRun
    from hourbell.domain.run_state import lane_for

    schedule, job_id, unplaced = _accepted_schedule(stored), stored.job_id, stored.due_scheduled_for
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
        last = jobs.find_last_planned(connection, tenant_id, job_id, after=skipped[-1] - _ONE_MS)
    elif due == skipped[-1]:
        last = due
    else:
        return JobState(stored.state)
    following = None if last is None else first_occurrence(schedule, job_id, last, skipped)
    if following is None:
        jobs.delete_due(connection, tenant_id, job_id)
        return JobState.COMPLETED
    _place(connection, tenant_id, job_id, following, window_ms=stored.window_ms, state=JobState.ACTIVE)
    return JobState.ACTIVE


def _planned(
    scheduler: Scheduler, connection: Connection, tenant_id: UUID, job_id: UUID, now: datetime
) -> tuple[Job, list[LaneMessage]]:
    """Plan what lies within the horizon, in the transaction that put it there."""
    from hourbell.services.claim_due import claim_jobs

    messages = claim_jobs(connection, [job_id], now=now, horizon=scheduler.horizon)
    return _read(connection, tenant_id, job_id, now), messages


def _dispatched(scheduler: Scheduler, planned: tuple[Job, list[LaneMessage]], now: datetime) -> Job:
    job, messages = planned
    dispatch_quietly(scheduler.database, scheduler.lanes, messages, now=now)
    return job


# --- what is read ---


def _locked(
    connection: Connection, tenant_id: UUID, job_id: UUID, cold_job: ColdJob | None, now: datetime
) -> StoredJob:
    stored = lock_in_tiers(connection, tenant_id, job_id, cold_job, now=now)
    if stored is None:
        raise NotFoundError("job")
    return stored


def _read(connection: Connection, tenant_id: UUID, job_id: UUID, now: datetime) -> Job:
    return _viewed(connection, jobs.fetch_job(connection, tenant_id, job_id), now)


def _viewed(connection: Connection, stored: StoredJob | None, now: datetime) -> Job:
    if stored is None:
        raise NotFoundError("job")
    return view_jobs(connection, [stored], now)[0]


def view_cold_jobs(connection: Connection, tenant_id: UUID, found: Sequence[ColdJob], *, now: datetime) -> list[Job]:
    """Cold jobs as their user sees them."""
    return [
        Job(stored=stored, state=JobState.ACTIVE, next_runs=_known_runs(stored), tier=Tier.COLD)
        for stored in as_stored(connection, tenant_id, found, now=now)
    ]


def view_jobs(connection: Connection, found: Sequence[StoredJob], now: datetime) -> list[Job]:
    """Stored jobs as their user sees them."""
    counted = [stored.job_id for stored in found if stored.unfinished or '"max_runs"' in stored.schedule]
    ahead = jobs.count_planned_ahead(connection, counted, now=now) if counted else {}
    return [
        Job(stored=stored, state=_shown_state(stored), next_runs=_next_runs(stored, ahead, now)) for stored in found
    ]


def _has_ended(stored: StoredJob) -> bool:
    return stored.state == JobState.COMPLETED and not stored.unfinished


def _shown_state(stored: StoredJob) -> JobState:
    return JobState.ACTIVE if stored.unfinished else JobState(stored.state)


def _known_runs(stored: StoredJob) -> tuple[datetime, ...]:
    return () if stored.due_scheduled_for is None else (stored.due_scheduled_for,)


def _next_runs(stored: StoredJob, ahead: Mapping[UUID, int], now: datetime) -> tuple[datetime, ...]:
    from hourbell.domain.schedule import next_after

    if _shown_state(stored) is not JobState.ACTIVE:
        return ()
    overdue = stored.due_scheduled_for
    times = [overdue] if overdue is not None and overdue <= now else []
    schedule, left, instant = _accepted_schedule(stored), _runs_left(stored, ahead), now
    limit = NEXT_RUNS if left is None else min(NEXT_RUNS, left)
    while schedule is not None and len(times) < limit:
        found = next_after(schedule, stored.job_id, instant)
        if found is None:
            break
        instant = found.scheduled_for
        if instant not in stored.skipped:
            times.append(instant)
    return tuple(times)


def _accepted_schedule(stored: StoredJob) -> Schedule | None:
    """The schedule; None where it is no longer accepted (a zone removed): such a job is still shown, with its error."""
    from hourbell.domain.schedule import schedule_from_json

    try:
        return schedule_from_json(stored.schedule)
    except (HourbellError, ValueError, LookupError):
        return None


def _runs_left(stored: StoredJob, ahead: Mapping[UUID, int]) -> int | None:
    """How many occurrences after now still get a run, those planned ahead included; None: as many as there are."""
    planned = ahead.get(stored.job_id, 0)
    if stored.unfinished:
        return planned
    schedule = _accepted_schedule(stored)
    if schedule is None or schedule.max_runs is None:
        return None
    return max(0, schedule.max_runs - stored.runs_planned) + planned
