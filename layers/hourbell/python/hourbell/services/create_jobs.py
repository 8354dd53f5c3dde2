"""Many jobs in one transaction: all or none of them, or each for itself.

Rows are written set-wise, hot and cold ones in one statement each, targets looked up once each; what lies within the
horizon is planned by the same claim as any other, and sent after the commit. An item that cannot be created is answered
by its error, named by its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from hourbell.domain.errors import FieldError, FieldErrors
from hourbell.domain.ids import job_due_hour, new_job_id
from hourbell.domain.instants import floor_ms
from hourbell.domain.run_state import JobState
from hourbell.lanes.messages import LaneMessage
from hourbell.services.audit import record_created_jobs
from hourbell.services.jobs import JobDefinition, Scheduler, accept_cold_jobs, exhausted, job_values
from hourbell.services.place_job import first_occurrence
from hourbell.services.quotas import check_job_quota
from hourbell.services.runs import dispatch_quietly
from hourbell.services.targets import resolve_target
from hourbell.services.tiers import Birth, find_namesakes
from hourbell.services.view_jobs import Job, view_jobs
from hourbell.store import cold, jobs
from hourbell.store.connection import Connection
from hourbell.store.constraints import ConflictError
from hourbell.store.jobs import NewJob

Refusal = FieldError | FieldErrors | ConflictError
MAX_ERRORS = 50


def create_jobs(
    scheduler: Scheduler,
    tenant_id: UUID,
    definitions: Sequence[JobDefinition | Refusal],
    *,
    atomic: bool,
    now: datetime,
) -> list[Job | Refusal]:
    """Create the jobs that are defined; those that were refused already keep their place in the answer.

    Raises:
        FieldErrors, ConflictError: ``atomic``, and not all of them can be created; none is.
        QuotaError: the tenant may not have so many jobs; none is created, ``atomic`` or not.
    """

    def create(connection: Connection) -> tuple[list[Job | Refusal], list[LaneMessage]]:
        return _create(scheduler, connection, tenant_id, definitions, atomic=atomic, now=now)

    made, messages = scheduler.database.run(create)
    dispatch_quietly(scheduler.database, scheduler.lanes, messages, now=now)
    return made


def item_name(index: int) -> str:
    """How an item is named in errors."""
    return f"jobs[{index}]"


def _create(
    scheduler: Scheduler,
    connection: Connection,
    tenant_id: UUID,
    definitions: Sequence[JobDefinition | Refusal],
    *,
    atomic: bool,
    now: datetime,
) -> tuple[list[Job | Refusal], list[LaneMessage]]:
    names = {one.name for one in definitions if isinstance(one, JobDefinition) and one.name is not None}
    if names:
        cold.lock_names(connection, tenant_id, names)
    targets = _resolve_targets(connection, tenant_id, definitions, now)
    wanted = [_prepare(scheduler, index, one, targets, now) for index, one in enumerate(definitions)]
    _raise_all(wanted, atomic)
    kept = _unless_taken(connection, tenant_id, wanted)
    _raise_all(kept, atomic)
    born = [one for one in kept if isinstance(one, Birth)]
    seen, messages = _insert(scheduler, connection, tenant_id, born, now)
    check_job_quota(connection, tenant_id)
    return [seen[one.job_id] if isinstance(one, Birth) else one for one in kept], messages


def _insert(
    scheduler: Scheduler, connection: Connection, tenant_id: UUID, born: Sequence[Birth], now: datetime
) -> tuple[dict[UUID, Job], list[LaneMessage]]:
    cold_hours = cold.share_buckets(connection, {hour for one in born if (hour := job_due_hour(one.job_id))})
    warm = [one for one in born if job_due_hour(one.job_id) not in cold_hours]
    seen, messages = _insert_warm(scheduler, connection, tenant_id, warm, now) if warm else ([], [])
    frozen = [one.as_cold_job(tenant_id) for one in born if job_due_hour(one.job_id) in cold_hours]
    if frozen:
        seen += accept_cold_jobs(connection, tenant_id, frozen, now=now)
    return {job.stored.job_id: job for job in seen}, messages


def _insert_warm(
    scheduler: Scheduler, connection: Connection, tenant_id: UUID, born: Sequence[Birth], now: datetime
) -> tuple[list[Job], list[LaneMessage]]:
    from hourbell.services.claim_due import claim_jobs

    new = [NewJob(one.job_id, one.values, one.scheduled_for, one.fire_at) for one in born]
    inserted = sorted(jobs.insert_jobs(connection, tenant_id, new, now=floor_ms(now)))
    record_created_jobs(connection, tenant_id, inserted, now=now)
    messages = claim_jobs(connection, inserted, now=now, horizon=scheduler.horizon)
    stored = jobs.fetch_jobs(connection, tenant_id, inserted)
    return view_jobs(connection, list(stored.values()), now), messages


def _resolve_targets(
    connection: Connection, tenant_id: UUID, definitions: Sequence[JobDefinition | Refusal], now: datetime
) -> dict[str, UUID | FieldErrors]:
    """By ``_target_key``: each target once, in one order for all who do this."""
    distinct = {_target_key(one): one.target for one in definitions if isinstance(one, JobDefinition)}
    found: dict[str, UUID | FieldErrors] = {}
    for key in sorted(distinct):
        try:
            found[key] = resolve_target(connection, tenant_id, distinct[key], now=now)
        except FieldErrors as error:
            found[key] = error
    return found


def _target_key(definition: JobDefinition) -> str:
    target = definition.target
    if isinstance(target, str):
        return f"name {target}"
    return f"id {target}" if isinstance(target, UUID) else f"inline {target.values().config_sha256.hex()}"


def _prepare(
    scheduler: Scheduler,
    index: int,
    wanted: JobDefinition | Refusal,
    targets: Mapping[str, UUID | FieldErrors],
    now: datetime,
) -> Birth | Refusal:
    if not isinstance(wanted, JobDefinition):
        return wanted
    target_id = targets[_target_key(wanted)]
    if isinstance(target_id, FieldErrors):
        return target_id.under(item_name(index))
    job_id = new_job_id(now, cell=scheduler.cell, due_hour=scheduler.birth_hour(wanted, now=now))
    first = first_occurrence(wanted.schedule, job_id, now)
    if first is None:
        return exhausted().under(item_name(index))
    return Birth(
        job_id=job_id,
        values=job_values(wanted, target_id, JobState.PAUSED if wanted.paused else JobState.ACTIVE),
        scheduled_for=first,
        created_at=floor_ms(now),
    )


def _unless_taken(connection: Connection, tenant_id: UUID, wanted: Sequence[Birth | Refusal]) -> list[Birth | Refusal]:
    """Those jobs whose name another one has are refused. The names are locked."""
    named = [(one.values.name, one.job_id) for one in wanted if isinstance(one, Birth)]
    taken = find_namesakes(connection, tenant_id, named)
    return [
        ConflictError(f"{item_name(index)}.name", "another job has this name")
        if isinstance(one, Birth) and one.job_id in taken
        else one
        for index, one in enumerate(wanted)
    ]


def _raise_all(items: Sequence[Birth | Refusal], atomic: bool) -> None:
    if not atomic:
        return
    errors = [error for item in items if isinstance(item, FieldError | FieldErrors) for error in item.errors]
    if errors:
        raise FieldErrors(errors[:MAX_ERRORS])
    for item in items:
        if isinstance(item, ConflictError):
            raise item
