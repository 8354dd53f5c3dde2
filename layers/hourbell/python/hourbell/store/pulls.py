"""Runs that wait for a worker of their target to fetch them: found, leased and judged as a lane's worker leases."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from psycopg.rows import namedtuple_row

from hourbell.domain.run_state import Lane
from hourbell.store.connection import Connection
from hourbell.store.executions import JudgedRun, WantedRun, judged_run, wanted_runs
from hourbell.store.sql import query

RunKey = tuple[UUID, datetime]


class Waiting(NamedTuple):
    """What waits for workers that fetch it: how many runs (counted up to a limit), and since when the oldest does."""

    runs: int
    oldest_seconds: float


def has_pullable_runs(connection: Connection, tenant_id: UUID, target_id: UUID, *, now: datetime | None) -> bool:
    """Whether any run waits for this target."""
    values = {"tenant_id": tenant_id, "target_id": target_id, "now": now}
    return connection.execute(query("has_pullable_runs"), values).fetchone() is not None


def lock_pullable_runs(
    connection: Connection, tenant_id: UUID, target_id: UUID, *, limit: int, payload_bytes: int, now: datetime | None
) -> list[RunKey]:
    """Lock the oldest runs that wait for this target, until their payloads together pass ``payload_bytes``."""
    values = {"tenant_id": tenant_id, "target_id": target_id, "limit": limit, "bytes": payload_bytes, "now": now}
    return [(row[0], row[1]) for row in connection.execute(query("lock_pullable_runs"), values).fetchall()]


def lease_pulled_runs(
    connection: Connection,
    target_id: UUID,
    runs: Sequence[RunKey],
    *,
    checked: bool,
    now: datetime | None,
    lease: timedelta,
) -> list[JudgedRun]:
    """Lease what may start of locked runs, as ``executions.lease_runs`` does and by the same statements."""
    wanted: list[WantedRun] = [(*run, checked, Lane.PULL) for run in runs]
    with connection.cursor(row_factory=namedtuple_row) as cursor:
        cursor.execute(query("lease_runs"), wanted_runs(wanted, now=now, lease=lease, puller=target_id))
        judged = [judged_run(row) for row in cursor.fetchall()]
        answered = {run.key for run in judged}
        for part in _one_run_a_job([run for run in wanted if run[:2] not in answered]):
            cursor.execute(query("lock_contended"), {"job_ids": [run[0] for run in part]})
            cursor.execute(query("lease_contended_runs"), wanted_runs(part, now=now, lease=lease, puller=target_id))
            judged += [judged_run(row) for row in cursor.fetchall()]
        return judged


def cancel_rescheduled(connection: Connection, runs: Sequence[RunKey], *, now: datetime | None) -> None:
    """End waiting runs whose occurrence the present schedule no longer has."""
    ordered = sorted(runs)
    values = {"job_ids": [run[0] for run in ordered], "scheduled_for": [run[1] for run in ordered], "now": now}
    connection.execute(query("cancel_rescheduled"), values)


def wake_pulled(
    connection: Connection, *, job_id: UUID | None = None, target_id: UUID | None = None, now: datetime
) -> None:
    """Have the reaper put what waits for this job or target where it belongs now."""
    connection.execute(query("wake_pulled"), {"job_id": job_id, "target_id": target_id, "now": now})


def measure_pulled(connection: Connection, *, limit: int) -> Waiting:
    """How much waits for workers that fetch it."""
    row = connection.execute(query("measure_pulled"), {"limit": limit}).fetchone()
    return Waiting(0, 0.0) if row is None else Waiting(*row)


def _one_run_a_job(runs: Sequence[WantedRun]) -> list[list[WantedRun]]:
    """Split so that no part has two runs of a job: overlap is judged between statements, not inside one."""
    parts: list[list[WantedRun]] = []
    seen: dict[UUID, int] = {}
    for run in sorted(runs, key=lambda run: run[1]):
        number = seen.get(run[0], 0)
        seen[run[0]] = number + 1
        if number == len(parts):
            parts.append([])
        parts[number].append(run)
    return [sorted(part) for part in parts]
