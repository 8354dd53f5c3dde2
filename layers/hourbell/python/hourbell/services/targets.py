"""Targets: named destinations, and the unnamed ones that jobs spell out.

New limits hold at once, also for what waits already: runs are given moments of the new pace, those that waited for a
slot are offered the new ones, and a target that is resumed lets go what its pause held.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from hourbell.domain.errors import FieldError, FieldErrors
from hourbell.domain.ids import new_id
from hourbell.domain.run_state import Lane
from hourbell.lanes.messages import LaneMessage
from hourbell.lanes.sqs import Lanes
from hourbell.services.audit import record, target_changes
from hourbell.services.errors import NotFoundError, StateError, check_version
from hourbell.services.runs import dispatch_quietly
from hourbell.store import targets
from hourbell.store.cold import is_target_cold
from hourbell.store.connection import Connection, Database
from hourbell.store.targets import StoredTarget, TargetValues


class TargetState(StrEnum):
    """As the target table's constraint has it."""

    ACTIVE = "active"
    PAUSED = "paused"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetDefinition:
    """A checked target. ``config``: the kind's own members, defaults filled in; ``name``: None for an inline one."""

    name: str | None
    kind: str
    config: Mapping[str, Any]
    rate_per_second: float | None = None
    burst: int | None = None
    max_concurrency: int | None = None

    def values(self) -> TargetValues:
        """As it is stored: the same destination always hashes the same."""
        config = json.dumps(self.config, sort_keys=True, separators=(",", ":"))
        return TargetValues(
            name=self.name,
            kind=self.kind,
            config=config,
            config_sha256=hashlib.sha256(f"{self.kind}\n{config}".encode()).digest(),
            rate_per_second=self.rate_per_second,
            burst=self.burst,
            max_concurrency=self.max_concurrency,
        )


# Answers the edited definition for the target as it is; must have no effect of its own.
ReviseTarget = Callable[[StoredTarget], TargetDefinition]


def create_target(database: Database, tenant_id: UUID, definition: TargetDefinition, *, now: datetime) -> StoredTarget:
    """Create a named target.

    Raises:
        ConflictError: the name is taken.
    """
    target_id = new_id(now)
    values = definition.values()

    def create(connection: Connection) -> StoredTarget:
        targets.insert_target(connection, tenant_id, target_id, values, now=now)
        record(
            connection, tenant_id, "target", target_id, "created", changes={"name": (None, definition.name)}, now=now
        )
        return _found(targets.fetch_target(connection, tenant_id, target_id))

    return database.run(create)


def get_target(database: Database, tenant_id: UUID, target_id: UUID) -> StoredTarget:
    """One target.

    Raises:
        NotFoundError: the tenant has no such target.
    """
    return _found(database.run(lambda connection: targets.fetch_target(connection, tenant_id, target_id)))


def list_targets(
    database: Database,
    tenant_id: UUID,
    *,
    name: str | None = None,
    state: str | None = None,
    before_id: UUID | None = None,
    limit: int,
) -> list[StoredTarget]:
    """A page of named targets, newest first."""
    return database.run(
        lambda connection: targets.list_targets(
            connection, tenant_id, name=name, state=state, before_id=before_id, limit=limit
        )
    )


def edit_target(
    database: Database,
    lanes: Lanes,
    tenant_id: UUID,
    target_id: UUID,
    revise: ReviseTarget,
    *,
    expected: Collection[int] | None,
    now: datetime,
) -> StoredTarget:
    """Edit a target; every delivery from now on goes by the new settings.

    Raises:
        NotFoundError, VersionError, ConflictError, FieldErrors.
    """

    def edit(connection: Connection) -> tuple[StoredTarget, list[LaneMessage]]:
        stored = _found(targets.lock_target(connection, tenant_id, target_id))
        check_version(stored.version, expected)
        values = revise(stored).values()
        targets.update_target(connection, tenant_id, target_id, values, now=now)
        record(connection, tenant_id, "target", target_id, "edited", changes=target_changes(stored, values), now=now)
        edited = _found(targets.fetch_target(connection, tenant_id, target_id))
        return edited, _apply_limits(connection, stored, edited, now)

    edited, messages = database.run(edit)
    dispatch_quietly(database, lanes, messages, now=now)
    return edited


def set_target_state(
    database: Database,
    lanes: Lanes,
    tenant_id: UUID,
    target_id: UUID,
    state: TargetState,
    *,
    expected: Collection[int] | None,
    now: datetime,
) -> StoredTarget:
    """Pause a target (its runs wait), or let it go on. Idempotent.

    Raises:
        NotFoundError, VersionError.
    """
    from hourbell.services.pace_jobs import release_target

    def change(connection: Connection) -> tuple[StoredTarget, list[LaneMessage]]:
        stored = _found(targets.lock_target(connection, tenant_id, target_id))
        check_version(stored.version, expected)
        if stored.state == state:
            return stored, []
        targets.set_target_state(connection, tenant_id, target_id, state=state, now=now)
        action = "paused" if state is TargetState.PAUSED else "resumed"
        record(connection, tenant_id, "target", target_id, action, changes={"state": (stored.state, state)}, now=now)
        changed = _found(targets.fetch_target(connection, tenant_id, target_id))
        return changed, release_target(connection, target_id, now=now) if state is TargetState.ACTIVE else []

    changed, messages = database.run(change)
    dispatch_quietly(database, lanes, messages, now=now)
    return changed


def delete_target(
    database: Database, tenant_id: UUID, target_id: UUID, *, expected: Collection[int] | None, now: datetime
) -> None:
    """Delete a target that no job needs any more.

    Raises:
        NotFoundError, VersionError; StateError while a job may still fire at it.
    """

    def delete(connection: Connection) -> None:
        stored = _found(targets.lock_target(connection, tenant_id, target_id))
        check_version(stored.version, expected)
        if targets.is_target_used(connection, target_id) or is_target_cold(connection, target_id):
            raise StateError(
                "jobs, or runs that have not ended, still use this target; give the jobs another one, or delete them"
            )
        targets.set_target_state(connection, tenant_id, target_id, state=TargetState.DELETED, now=now)
        record(connection, tenant_id, "target", target_id, "deleted", changes={"name": (stored.name, None)}, now=now)

    database.run(delete)


def resolve_target(
    connection: Connection, tenant_id: UUID, wanted: str | UUID | TargetDefinition, *, now: datetime
) -> UUID:
    """The id behind a job's ``target``: the name of one, the id of the one it has, or a destination spelled out.

    Raises:
        FieldErrors: no target is named so.
    """
    if isinstance(wanted, UUID):
        return wanted
    if isinstance(wanted, TargetDefinition):
        return targets.put_inline_target(connection, tenant_id, new_id(now), wanted.values(), now=now)
    target_id = targets.find_target_by_name(connection, tenant_id, wanted)
    if target_id is None:
        raise FieldErrors([FieldError("target", f"no target is named {wanted!r}")])
    return target_id


def _apply_limits(
    connection: Connection, before: StoredTarget, after: StoredTarget, now: datetime
) -> list[LaneMessage]:
    """Hold what waits already to limits that were edited; the messages go out after the commit."""
    from hourbell.domain.recovery import WAKE_GRACE
    from hourbell.services.pace_jobs import repace_target
    from hourbell.store import pulls
    from hourbell.store.recovery import offer_slots

    messages = []
    if before.kind != after.kind:
        pulls.wake_pulled(connection, target_id=after.target_id, now=now)
    if (before.rate_per_second, before.burst) != (after.rate_per_second, after.burst):
        messages += repace_target(connection, after.target_id, now=now)
    if before.max_concurrency != after.max_concurrency:
        for run in offer_slots(connection, [after.target_id], grace=WAKE_GRACE, now=now):
            messages.append(
                LaneMessage(
                    job_id=run.job_id,
                    scheduled_for=run.scheduled_for,
                    tenant_id=run.tenant_id,
                    lane=Lane(run.lane),
                    ready_at=run.next_attempt_at,
                )
            )
    return messages


def _found(stored: StoredTarget | None) -> StoredTarget:
    if stored is None:
        raise NotFoundError("target")
    return stored
