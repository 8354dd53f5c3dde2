"""Runs in the hands of their targets (heartbeat, complete, fail) and of their owners (cancel, redrive)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, cast
from uuid import UUID

from psycopg.rows import namedtuple_row

from hourbell.domain.limits import LEASE
from hourbell.store.connection import Connection
from hourbell.store.executions import Completion, FreedRun, completion_columns
from hourbell.store.runs_read import RunFilter
from hourbell.store.sql import query


class LockedRun(NamedTuple):
    """A locked run. ``retry``: the job's policy as stored; ``lease_token`` None: nobody is executing it."""

    job_id: UUID
    scheduled_for: datetime
    run_id: UUID
    tenant_id: UUID
    target_id: UUID
    state: str
    lane: str
    limited: bool
    attempt: int
    attempts_before: int
    fire_at: datetime
    lease_token: UUID | None
    retry: dict[str, Any]
    overlap: str
    job_deleted: bool


def heartbeat_run(
    connection: Connection,
    tenant_id: UUID,
    run_id: UUID,
    *,
    scheduled_for: datetime,
    token: UUID,
    progress: str | None,
    now: datetime | None = None,
    lease: timedelta = LEASE,
) -> datetime | None:
    """Extend the lease; its new end, or None when the token does not stand (any more)."""
    row = connection.execute(
        query("heartbeat_run"),
        {
            "tenant_id": tenant_id,
            "run_id": run_id,
            "scheduled_for": scheduled_for,
            "token": token,
            "progress": progress,
            "now": now,
            "lease": lease,
        },
    ).fetchone()
    return None if row is None else cast("datetime", row[0])


def lock_run(connection: Connection, tenant_id: UUID, run_id: UUID, *, scheduled_for: datetime) -> LockedRun | None:
    """The tenant's run, locked until the transaction ends."""
    values = {"tenant_id": tenant_id, "run_id": run_id, "scheduled_for": scheduled_for}
    row = connection.execute(query("lock_run"), values).fetchone()
    return None if row is None else LockedRun(*row)


def complete_run(connection: Connection, completion: Completion, *, result: str | None, now: datetime) -> bool:
    """Record the outcome that a target reported; whether its token still stood."""
    cursor = connection.cursor(row_factory=namedtuple_row)
    counted = cursor.execute(query("complete_runs"), completion_columns([completion], now=now)).fetchall()
    if counted and result is not None:
        values = {"job_id": completion.job_id, "scheduled_for": completion.scheduled_for, "result": result}
        connection.execute(query("keep_result"), values)
    return bool(counted)


def cancel_run(connection: Connection, run: LockedRun, *, now: datetime) -> None:
    """End a locked run that has not ended."""
    connection.execute(query("cancel_run"), {"job_id": run.job_id, "scheduled_for": run.scheduled_for, "now": now})


def release_buffered(
    connection: Connection, job_ids: Sequence[UUID], *, grace: timedelta, now: datetime
) -> list[FreedRun]:
    """As the worker does when a run ends."""
    connection.execute(query("lock_contended"), {"job_ids": list(job_ids)})
    values = {"job_ids": list(job_ids), "grace": grace, "now": now}
    rows = connection.execute(query("release_buffered"), values).fetchall()
    return [FreedRun(*row) for row in rows]


def redrive_runs(
    connection: Connection,
    tenant_id: UUID,
    only: RunFilter,
    *,
    run_id: UUID | None = None,
    states: Sequence[str],
    grace: timedelta,
    limit: int,
    now: datetime,
) -> list[FreedRun]:
    """Start over up to ``limit`` ended runs; they must be sent after the commit."""
    values = {
        **only._asdict(),
        "tenant_id": tenant_id,
        "run_id": run_id,
        "states": list(states),
        "grace": grace,
        "limit": limit,
        "now": now,
    }
    rows = connection.execute(query("redrive_runs"), values).fetchall()
    return [FreedRun(*row) for row in rows]


def count_redrivable(
    connection: Connection, tenant_id: UUID, only: RunFilter, *, states: Sequence[str], limit: int
) -> int:
    """How many runs a redrive would start over, counted up to ``limit``."""
    values = {**only._asdict(), "tenant_id": tenant_id, "run_id": None, "states": list(states), "limit": limit}
    (count,) = connection.execute(query("count_redrivable"), values).fetchone() or (0,)
    return cast("int", count)
