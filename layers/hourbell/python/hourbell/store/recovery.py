"""The reaper's statements: what must be looked at again, and what was decided about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from hourbell.store.connection import Connection
from hourbell.store.executions import FreedRun
from hourbell.store.sql import query


@dataclass(slots=True, kw_only=True)
class WakefulRun:
    """A locked run whose ``wake_at`` has come. ``now``: the database's clock at that moment."""

    job_id: UUID
    scheduled_for: datetime
    run_id: UUID
    tenant_id: UUID
    target_id: UUID
    state: str
    reason: str | None
    limited: bool
    lane: str
    next_attempt_at: datetime
    fire_at: datetime
    wake_at: datetime
    attempt: int
    attempts_before: int
    wakes: int
    retry: dict[str, Any]
    job_deleted: bool
    timeout_ms: int
    present_target_id: UUID
    target_kind: str
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What becomes of one wakeful run. ``wake_at`` None: it has ended. ``crashed``: its open attempt did."""

    job_id: UUID
    scheduled_for: datetime
    state: str
    reason: str | None
    lane: str
    target_id: UUID
    next_attempt_at: datetime
    wake_at: datetime | None
    wakes: int
    crashed: bool


def lock_wakeful_runs(connection: Connection, *, now: datetime | None, limit: int) -> list[WakefulRun]:
    """Lock up to ``limit`` runs whose ``wake_at`` has come."""
    with connection.cursor(row_factory=class_row(WakefulRun)) as cursor:
        cursor.execute(query("lock_wakeful_runs"), {"now": now, "limit": limit})
        return cursor.fetchall()


def count_overdue(connection: Connection, *, before: datetime, limit: int) -> dict[str, int]:
    """Runs per lane that should have started before ``before`` and still wait, counted up to ``limit``."""
    rows = connection.execute(query("count_overdue"), {"before": before, "limit": limit}).fetchall()
    return {str(lane): int(str(runs)) for lane, runs in rows}


def offer_slots(
    connection: Connection, target_ids: Sequence[UUID], *, grace: timedelta, now: datetime
) -> list[FreedRun]:
    """Offer the free slots of these targets to the runs that waited longest; they must be sent after the commit."""
    values = {"target_ids": list(target_ids), "now": now, "grace": grace}
    connection.execute(query("lock_limited_targets"), values)
    rows = connection.execute(query("offer_slots"), values).fetchall()
    return [FreedRun(*row) for row in rows]


def write_recovered(connection: Connection, recoveries: Sequence[Recovery], *, now: datetime) -> None:
    """Write the decisions, in id order."""
    ordered = sorted(recoveries, key=lambda r: (r.job_id, r.scheduled_for))
    connection.execute(
        query("write_recovered"),
        {
            "job_ids": [r.job_id for r in ordered],
            "scheduled_for": [r.scheduled_for for r in ordered],
            "states": [r.state for r in ordered],
            "reasons": [r.reason for r in ordered],
            "lanes": [r.lane for r in ordered],
            "target_ids": [r.target_id for r in ordered],
            "next_attempt_at": [r.next_attempt_at for r in ordered],
            "wake_at": [r.wake_at for r in ordered],
            "wakes": [r.wakes for r in ordered],
            "crashed": [r.crashed for r in ordered],
            "now": now,
        },
    )
