"""The pace of targets: locked while a claim gives away their moments."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from hourbell.store.arrays import instant_array, uuid_array
from hourbell.store.connection import Connection
from hourbell.store.sql import query


class PacedTarget(NamedTuple):
    """A locked target with a rate limit. ``tat`` None: nothing was ever sent."""

    target_id: UUID
    rate_per_second: float
    burst: int
    tat: datetime | None


def lock_paced_targets(connection: Connection, target_ids: Collection[UUID]) -> list[PacedTarget]:
    """Lock those of these targets that have a rate limit."""
    rows = connection.execute(query("lock_paced_targets"), {"target_ids": list(target_ids)}).fetchall()
    return [PacedTarget(*row) for row in rows]


class WaitingRun(NamedTuple):
    """A locked run that waits for its moment."""

    job_id: UUID
    scheduled_for: datetime
    tenant_id: UUID
    lane: str
    fire_at: datetime
    window_ms: int


def lock_waiting_runs(connection: Connection, target_id: UUID, *, now: datetime) -> list[WaitingRun]:
    """Lock the runs of a target that wait for a moment to come, in the order of their moments."""
    rows = connection.execute(query("lock_waiting_runs"), {"target_id": target_id, "now": now}).fetchall()
    return [WaitingRun(*row) for row in rows]


def move_waiting_runs(connection: Connection, runs: Sequence[WaitingRun], *, grace: timedelta) -> None:
    """Write their new moments."""
    ordered = sorted(runs)
    connection.execute(
        query("move_waiting_runs"),
        {
            "job_ids": uuid_array([run.job_id for run in ordered]),
            "scheduled_for": instant_array([run.scheduled_for for run in ordered]),
            "fire_at": instant_array([run.fire_at for run in ordered]),
            "grace": grace,
        },
    )


def forget_paced_moments(connection: Connection, target_id: UUID) -> None:
    """Have due rows that wait for a moment of the target's old pace given new ones at their next claim."""
    connection.execute(query("forget_paced_moments"), {"target_id": target_id})


def release_held(connection: Connection, target_id: UUID, *, grace: timedelta, now: datetime) -> list[WaitingRun]:
    """Let the runs that a pause held start now; they must be sent after the commit."""
    values = {"target_id": target_id, "grace": grace, "now": now}
    rows = connection.execute(query("release_held"), values).fetchall()
    return [WaitingRun(*row) for row in rows]


def write_arrival_times(connection: Connection, tats: Mapping[UUID, datetime]) -> None:
    """Move the arrival times of targets that the caller holds locked."""
    ordered = sorted(tats.items())
    connection.execute(
        query("write_arrival_times"),
        {"target_ids": uuid_array([item[0] for item in ordered]), "tats": instant_array([item[1] for item in ordered])},
    )
