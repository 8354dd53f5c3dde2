"""Many jobs in one transaction: all or none of them, or each for itself.

Rows are written set-wise, targets looked up once each; what lies within the horizon is planned by the same claim as any
other, and sent after the commit. An item that cannot be created is answered by its error, named by its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from hourbell.domain.errors import FieldError, FieldErrors
from hourbell.domain.ids import new_job_id
from hourbell.domain.instants import floor_ms
from hourbell.domain.occurrence import window_offset_ms
from hourbell.domain.run_state import JobState
from hourbell.lanes.messages import LaneMessage
from hourbell.services.audit import record_created_jobs
from hourbell.services.jobs import Job, JobDefinition, Scheduler, exhausted, first_occurrence, job_values, view_jobs
from hourbell.services.quotas import check_job_quota
from hourbell.services.runs import dispatch_quietly
from hourbell.services.targets import resolve_target
from hourbell.store import jobs
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
    from hourbell.services.claim_due import claim_jobs

    targets = _resolve_targets(connection, tenant_id, definitions, now)
    wanted = [_prepare(scheduler, index, one, targets, now) for index, one in enumerate(definitions)]
    _raise_all(wanted, atomic)
    new = [one for one in wanted if isinstance(one, NewJob)]
    inserted = jobs.insert_jobs(connection, tenant_id, new, now=floor_ms(now)) if new else set()
    record_created_jobs(connection, tenant_id, sorted(inserted), now=now)
    kept = [_unless_taken(index, one, inserted) for index, one in enumerate(wanted)]
    _raise_all(kept, atomic)
    messages = claim_jobs(connection, sorted(inserted), now=now, horizon=scheduler.horizon)
    stored = jobs.fetch_jobs(connection, tenant_id, sorted(inserted))
    shown = {job.stored.job_id: job for job in view_jobs(connection, list(stored.values()), now)}
    check_job_quota(connection, tenant_id)
    return [shown[one.job_id] if isinstance(one, NewJob) else one for one in kept], messages


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
) -> NewJob | Refusal:
    if not isinstance(wanted, JobDefinition):
        return wanted
    target_id = targets[_target_key(wanted)]
    if isinstance(target_id, FieldErrors):
        return target_id.under(item_name(index))
    job_id = new_job_id(now, cell=scheduler.cell)
    first = first_occurrence(wanted.schedule, job_id, now)
    if first is None:
        return exhausted().under(item_name(index))
    state = JobState.PAUSED if wanted.paused else JobState.ACTIVE
    offset = timedelta(milliseconds=window_offset_ms(job_id, wanted.window_ms))
    return NewJob(job_id, job_values(wanted, target_id, state), first, first + offset)


def _unless_taken(index: int, wanted: NewJob | Refusal, inserted: set[UUID]) -> NewJob | Refusal:
    if isinstance(wanted, NewJob) and wanted.job_id not in inserted:
        return ConflictError(f"{item_name(index)}.name", "another job has this name")
    return wanted


def _raise_all(items: Sequence[NewJob | Refusal], atomic: bool) -> None:
    if not atomic:
        return
    errors = [error for item in items if isinstance(item, FieldError | FieldErrors) for error in item.errors]
    if errors:
        raise FieldErrors(errors[:MAX_ERRORS])
    for item in items:
        if isinstance(item, ConflictError):
            raise item
