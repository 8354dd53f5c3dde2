"""Runs as the API shows them, and the one kind of run that it makes: the triggered one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from hourbell.store.connection import Connection
from hourbell.store.sql import query


class StoredRun(NamedTuple):
    """A run. ``progress``, ``result``: JSON text; ``started_at``: when its first attempt started."""

    run_id: UUID
    job_id: UUID
    target_id: UUID
    origin: str
    state: str
    reason: str | None
    scheduled_for: datetime
    fire_at: datetime
    attempt: int
    progress: str | None
    result: str | None
    error: str | None
    started_at: datetime | None
    finished_at: datetime | None
    created_at: datetime


class StoredAttempt(NamedTuple):
    """One execution of a run."""

    run_id: UUID
    number: int
    started_at: datetime
    finished_at: datetime | None
    outcome: str | None
    status_code: int | None
    error: str | None
    duration_ms: int | None


class RunFilter(NamedTuple):
    """Which runs a list shows; None leaves a condition out. ``scheduled_for`` in [from_at, to_at)."""

    state: str | None = None
    job_id: UUID | None = None
    target_id: UUID | None = None
    target_name: str | None = None
    from_at: datetime | None = None
    to_at: datetime | None = None


class TriggeredRun(NamedTuple):
    """A run that a user asked for. ``payload``: JSON text of its own, or None for the job's."""

    job_id: UUID
    scheduled_for: datetime
    run_id: UUID
    tenant_id: UUID
    target_id: UUID
    lane: str
    schedule_version: int
    fire_at: datetime
    wake_at: datetime
    payload: str | None
    now: datetime


def fetch_run(connection: Connection, tenant_id: UUID, run_id: UUID, *, scheduled_for: datetime) -> StoredRun | None:
    """The tenant's run; ``scheduled_for`` comes out of the id and names the partition."""
    row = connection.execute(
        query("fetch_run"), {"tenant_id": tenant_id, "run_id": run_id, "scheduled_for": scheduled_for}
    ).fetchone()
    return None if row is None else StoredRun(*row)


def list_runs(
    connection: Connection,
    tenant_id: UUID,
    only: RunFilter,
    *,
    before: tuple[datetime, UUID] | None,
    limit: int,
    now: datetime,
) -> list[StoredRun]:
    """Up to ``limit`` runs that follow ``before`` (scheduled_for, job_id) in the list's order, latest first.

    Scheduled runs that will start after ``now`` are left out, unless queued ones are asked for.
    """
    before_at, after_job_id = before or (None, None)
    rows = connection.execute(
        query("list_runs"),
        {
            **only._asdict(),
            "tenant_id": tenant_id,
            "before_at": before_at,
            "after_job_id": after_job_id,
            "limit": limit,
            "now": now,
        },
    )
    return [StoredRun(*row) for row in rows.fetchall()]


def fetch_attempts(connection: Connection, runs: Sequence[StoredRun]) -> dict[UUID, list[StoredAttempt]]:
    """By run, its attempts in order."""
    rows = connection.execute(
        query("fetch_attempts"),
        {"run_ids": [run.run_id for run in runs], "scheduled_for": [run.scheduled_for for run in runs]},
    )
    found: dict[UUID, list[StoredAttempt]] = {}
    for row in rows.fetchall():
        attempt = StoredAttempt(*row)
        found.setdefault(attempt.run_id, []).append(attempt)
    return found


def insert_triggered_run(connection: Connection, run: TriggeredRun) -> bool:
    """Insert the run; False when the job already has one of this millisecond."""
    return connection.execute(query("insert_triggered_run"), run._asdict()).fetchone() is not None
