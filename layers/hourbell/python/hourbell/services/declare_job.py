"""Declaring a job by its name: it is created, brought to what is declared, or left alone where it is that already.

Each step is one of the use cases for jobs; what changes hands between two of them (the name is taken, given away, or
the job deleted) is looked at again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from hourbell.domain.errors import HourbellError
from hourbell.domain.retry import retry_policy_to_mapping
from hourbell.domain.run_state import JobState
from hourbell.services.errors import NotFoundError, VersionError, check_version
from hourbell.services.jobs import JobDefinition, Scheduler, create_job, edit_job, schedule_text
from hourbell.services.targets import TargetDefinition
from hourbell.services.tiers import find_in_cold
from hourbell.services.view_jobs import Job, get_job
from hourbell.store import cold
from hourbell.store.constraints import ConflictError
from hourbell.store.jobs import StoredJob

_TRIES = 5


class Action(StrEnum):
    """What a declaration does, or would."""

    CREATE = "create"
    UPDATE = "update"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What came of a declaration. ``changes``: members of an updated job; ``job``: None for a dry run."""

    action: Action
    changes: tuple[str, ...] = ()
    job: Job | None = None


# The declared definition, for a job that is to be created (None) or is there; must have no effect of its own.
DefineJob = Callable[[StoredJob | None], JobDefinition]


class _Leave(HourbellError):  # noqa: N818 - no error: ends an edit before it writes
    """The job is what is declared."""


class _Renamed(HourbellError):  # noqa: N818
    """The job has another name by now."""


def declare_job(
    scheduler: Scheduler,
    tenant_id: UUID,
    name: str,
    define: DefineJob,
    *,
    expected: Collection[int] | None = None,
    may_create: bool = True,
    dry_run: bool = False,
    now: datetime,
) -> Declared:
    """Have a job of this name be what ``define`` says; ``dry_run`` tells what would be done, and is
    refused as the real one would be.

    ``may_create``: whether there need be none yet.

    Raises:
        FieldErrors, VersionError, ConflictError; StateError for a pause of a job that has ended.
    """
    for _ in range(_TRIES):
        job_id = scheduler.database.run(lambda c: cold.find_named_jobs(c, tenant_id, [name]).get(name))
        try:
            if job_id is None and not may_create:
                raise VersionError("is not there")
            if job_id is None:
                return _create(scheduler, tenant_id, define(None), dry_run=dry_run, now=now)
            return _update(scheduler, tenant_id, job_id, name, define, expected=expected, dry_run=dry_run, now=now)
        except (ConflictError, NotFoundError, _Renamed):
            continue
    raise ConflictError("name", "changes hands all the time; try again")


def _create(
    scheduler: Scheduler,
    tenant_id: UUID,
    definition: JobDefinition,
    *,
    dry_run: bool,
    now: datetime,
) -> Declared:
    job = create_job(scheduler, tenant_id, definition, dry_run=dry_run, now=now)
    return Declared(action=Action.CREATE, job=None if dry_run else job)


def _update(
    scheduler: Scheduler,
    tenant_id: UUID,
    job_id: UUID,
    name: str,
    define: DefineJob,
    *,
    expected: Collection[int] | None,
    dry_run: bool,
    now: datetime,
) -> Declared:
    found: list[tuple[str, ...]] = []
    cold_job = find_in_cold(scheduler.database, scheduler.cold, tenant_id, job_id)

    def revise(stored: StoredJob) -> JobDefinition:
        check_version(stored.version, expected)
        if stored.name != name:
            raise _Renamed("has another name")
        definition = define(stored)
        changes = changed_members(stored, definition)
        if not changes:
            raise _Leave("left alone")
        found[:] = [changes]
        return definition

    try:
        job = edit_job(scheduler, tenant_id, job_id, revise, cold_job=cold_job, dry_run=dry_run, now=now)
    except _Leave:
        shown = None if dry_run else get_job(scheduler, tenant_id, job_id, cold_job=cold_job, now=now)
        return Declared(action=Action.UNCHANGED, job=shown)
    return Declared(action=Action.UPDATE, changes=found[0], job=None if dry_run else job)


def changed_members(stored: StoredJob, definition: JobDefinition) -> tuple[str, ...]:
    """The members in which the job differs from its definition, as the API names them; none: they are the same.

    A job that can no longer be planned differs in its schedule: an edit puts it in its place again.
    """
    same = {
        "schedule": schedule_text(definition.schedule) == stored.schedule and stored.error is None,
        "target": _is_same_target(stored, definition),
        "payload": definition.payload == stored.payload,
        "window": definition.window_ms == stored.window_ms,
        "catch_up": dict(definition.catch_up) == json.loads(stored.catch_up),
        "overlap": definition.overlap == stored.overlap,
        "retry": retry_policy_to_mapping(definition.retry) == json.loads(stored.retry),
        "timeout": definition.timeout_ms == stored.timeout_ms,
        "tags": dict(definition.tags) == json.loads(stored.tags),
        "paused": definition.paused == (stored.state == JobState.PAUSED),
    }
    return tuple(member for member, is_same in same.items() if not is_same)


def _is_same_target(stored: StoredJob, definition: JobDefinition) -> bool:
    target = definition.target
    if isinstance(target, TargetDefinition):
        is_inline = stored.target_name is None and stored.target_kind == target.kind
        return is_inline and json.loads(stored.target_config) == dict(target.config)
    return target == (stored.target_name if isinstance(target, str) else stored.target_id)
