"""The audit: who changed what, written in the transaction of the change."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from hourbell.store.arrays import uuid_array
from hourbell.store.connection import Connection
from hourbell.store.sql import query

KEPT_FOR = timedelta(days=400)


class StoredAudit(NamedTuple):
    """An entry. ``key_id`` None: not through the API. ``changes``: a JSON list of field, old and new.

    ``place``: in the order in which they were written, whatever the clocks of those who wrote them.
    """

    audit_id: UUID
    resource_kind: str
    resource_id: UUID
    action: str
    key_id: UUID | None
    request_id: str | None
    changes: str
    recorded_at: datetime
    place: int


class Changed(NamedTuple):
    """A thing that was changed; ``changes`` as they are stored."""

    audit_id: UUID
    resource_id: UUID
    changes: str


def insert_audit(
    connection: Connection, tenant_id: UUID, kind: str, action: str, changed: Sequence[Changed], *, now: datetime
) -> None:
    """Record what the present transaction does to things of one kind."""
    values = {
        "audit_ids": uuid_array([one.audit_id for one in changed]),
        "resource_ids": uuid_array([one.resource_id for one in changed]),
        "changes": [one.changes for one in changed],
    }
    about = {"tenant_id": tenant_id, "resource_kind": kind, "action": action, "now": now}
    connection.execute(query("insert_audit"), {**values, **about})


def list_audit(
    connection: Connection, tenant_id: UUID, *, resource_id: UUID | None, before: int | None, limit: int
) -> list[StoredAudit]:
    """Up to ``limit`` entries before the place ``before``, latest first."""
    values = {"tenant_id": tenant_id, "resource_id": resource_id, "before": before, "limit": limit}
    return [StoredAudit(*row) for row in connection.execute(query("list_audit"), values).fetchall()]


def delete_old_audit(connection: Connection, *, now: datetime) -> int:
    """Forget what is past ``KEPT_FOR``; answer how many entries."""
    return connection.execute(query("delete_old_audit"), {"before": now - KEPT_FOR}).rowcount
