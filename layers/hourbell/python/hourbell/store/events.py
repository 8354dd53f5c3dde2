"""The outbox of events: written by the statements that make them happen, sent and removed from here."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import NamedTuple, cast
from uuid import UUID

from hourbell.store.connection import Connection
from hourbell.store.sql import query


class RunEvent(NamedTuple):
    """Something a user should hear of. ``kind``: ``run.dead``, or ``job.paused`` by what its target answered."""

    event_id: UUID
    kind: str
    tenant_id: UUID
    job_id: UUID
    run_id: UUID
    scheduled_for: datetime
    target_id: UUID
    attempt: int
    reason: str | None
    error: str | None
    recorded_at: datetime


def take_events(connection: Connection, *, limit: int, hold: timedelta, now: datetime | None) -> list[RunEvent]:
    """Take up to ``limit`` events, the oldest first; nobody else gets them for ``hold``."""
    rows = connection.execute(query("take_events"), {"limit": limit, "hold": hold, "now": now}).fetchall()
    return sorted((RunEvent(*row) for row in rows), key=lambda event: event.recorded_at)


def forget_events(connection: Connection, event_ids: Collection[UUID]) -> None:
    """Remove events that were sent."""
    connection.execute(query("forget_events"), {"event_ids": sorted(event_ids)})


def measure_events(connection: Connection, *, now: datetime | None) -> float:
    """Seconds since the oldest event that has not been sent; 0.0 when there is none."""
    row = connection.execute(query("measure_events"), {"now": now}).fetchone()
    return 0.0 if row is None else cast("float", row[0])
