"""Targets. A job's target is held with a key-share lock while the job is written, so that it cannot be deleted."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple, cast
from uuid import UUID

from hourbell.store.connection import Connection
from hourbell.store.constraints import translated
from hourbell.store.sql import query


class StoredTarget(NamedTuple):
    """A target. ``name`` is None for an inline one; ``config`` is JSON text."""

    target_id: UUID
    name: str | None
    kind: str
    config: str
    rate_per_second: float | None
    burst: int | None
    max_concurrency: int | None
    state: str
    version: int
    created_at: datetime
    updated_at: datetime


class TargetValues(NamedTuple):
    """What an insert or an update writes. ``config_sha256``: of kind and config, the same for the same destination."""

    name: str | None
    kind: str
    config: str
    config_sha256: bytes
    rate_per_second: float | None = None
    burst: int | None = None
    max_concurrency: int | None = None


class Destination(NamedTuple):
    """What a job shows of its target. ``name`` is None for an inline one; ``config`` is JSON text."""

    name: str | None
    kind: str
    config: str


def fetch_destinations(
    connection: Connection, tenant_id: UUID, target_ids: Collection[UUID]
) -> dict[UUID, Destination]:
    """The tenant's targets among these, by id."""
    rows = connection.execute(query("fetch_destinations"), {"tenant_id": tenant_id, "target_ids": list(target_ids)})
    return {cast("UUID", row[0]): Destination(*row[1:]) for row in rows.fetchall()}


def fetch_target(connection: Connection, tenant_id: UUID, target_id: UUID) -> StoredTarget | None:
    """The tenant's target, unless there is none or it was deleted."""
    return _one(connection, "fetch_target", tenant_id, target_id)


def lock_target(connection: Connection, tenant_id: UUID, target_id: UUID) -> StoredTarget | None:
    """As ``fetch_target``, locked until the transaction ends."""
    return _one(connection, "lock_target", tenant_id, target_id)


def list_targets(
    connection: Connection,
    tenant_id: UUID,
    *,
    name: str | None,
    state: str | None,
    before_id: UUID | None,
    limit: int,
) -> list[StoredTarget]:
    """Up to ``limit`` named targets created before ``before_id``, newest first."""
    rows = connection.execute(
        query("list_targets"),
        {"tenant_id": tenant_id, "name": name, "state": state, "before_id": before_id, "limit": limit},
    )
    return [StoredTarget(*row) for row in rows.fetchall()]


def find_target_by_name(connection: Connection, tenant_id: UUID, name: str) -> UUID | None:
    """The id of the tenant's target of this name, which now cannot be deleted before the transaction ends."""
    row = connection.execute(query("find_target_by_name"), {"tenant_id": tenant_id, "name": name}).fetchone()
    return None if row is None else cast("UUID", row[0])


def put_inline_target(
    connection: Connection, tenant_id: UUID, target_id: UUID, values: TargetValues, *, now: datetime
) -> UUID:
    """The id of the tenant's unnamed target of this destination; made as ``target_id`` when there is none."""
    key = {"tenant_id": tenant_id, "config_sha256": values.config_sha256}
    made = {"target_id": target_id, "kind": values.kind, "config": values.config, "now": now}
    for _ in range(3):  # found, or made, or made by somebody else between the two
        row = connection.execute(query("find_inline_target"), key).fetchone()
        row = row or connection.execute(query("insert_inline_target"), {**key, **made}).fetchone()
        if row is not None:
            return cast("UUID", row[0])
    raise AssertionError("an inline target was neither found nor made")


def insert_target(
    connection: Connection, tenant_id: UUID, target_id: UUID, values: TargetValues, *, now: datetime
) -> None:
    """Insert a named target.

    Raises:
        ConflictError: the name is taken.
    """
    with translated():
        connection.execute(
            query("insert_target"),
            {**values._asdict(), "tenant_id": tenant_id, "target_id": target_id, "now": now},
        )


def update_target(
    connection: Connection, tenant_id: UUID, target_id: UUID, values: TargetValues, *, now: datetime
) -> None:
    """Write a locked target.

    Raises:
        ConflictError: the name is taken.
    """
    with translated():
        connection.execute(
            query("update_target"),
            {**values._asdict(), "tenant_id": tenant_id, "target_id": target_id, "now": now},
        )


def set_target_state(connection: Connection, tenant_id: UUID, target_id: UUID, *, state: str, now: datetime) -> None:
    """Move a locked target to another state."""
    connection.execute(
        query("set_target_state"),
        {"tenant_id": tenant_id, "target_id": target_id, "state": state, "now": now},
    )


def is_target_used(connection: Connection, target_id: UUID) -> bool:
    """Whether anything may still be delivered to a locked target."""
    row = connection.execute(query("is_target_used"), {"target_id": target_id}).fetchone()
    return row is not None and bool(row[0])


def _one(connection: Connection, statement: str, tenant_id: UUID, target_id: UUID) -> StoredTarget | None:
    row = connection.execute(query(statement), {"tenant_id": tenant_id, "target_id": target_id}).fetchone()
    return None if row is None else StoredTarget(*row)
