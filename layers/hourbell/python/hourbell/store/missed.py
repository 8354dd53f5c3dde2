"""Stretches of occurrences that were not run, as the API shows them; claims write them."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from hourbell.store.connection import Connection
from hourbell.store.sql import query


class StoredStretch(NamedTuple):
    """Occurrences of one job that were not run, both ends included."""

    first_scheduled_for: datetime
    last_scheduled_for: datetime
    occurrences: int
    reason: str
    recorded_at: datetime


def list_missed(
    connection: Connection, tenant_id: UUID, job_id: UUID, *, before: datetime | None, limit: int
) -> list[StoredStretch]:
    """Up to ``limit`` stretches that begin before ``before``, latest first."""
    values = {"tenant_id": tenant_id, "job_id": job_id, "before": before, "limit": limit}
    rows = connection.execute(query("list_missed"), values)
    return [StoredStretch(*row) for row in rows.fetchall()]
