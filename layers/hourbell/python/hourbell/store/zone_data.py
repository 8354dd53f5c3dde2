"""Re-planning after an update of the time-zone data: progress, and the due rows it moves."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from hourbell.store.arrays import instant_array, uuid_array
from hourbell.store.connection import Connection
from hourbell.store.sql import query

BEFORE_ALL = UUID(int=0)


class PlacedJob(NamedTuple):
    """A locked due row with its job. ``planned_through``: its latest run that is still to come."""

    job_id: UUID
    scheduled_for: datetime
    schedule: str
    window_ms: int
    planned_through: datetime | None


class Replacement(NamedTuple):
    """Where a job belongs."""

    job_id: UUID
    scheduled_for: datetime
    next_run_at: datetime


def begin_replan(connection: Connection, *, version: str, force: bool, now: datetime) -> UUID | None:
    """The id after which to go on with re-planning for ``version``; None when every job is planned with it."""
    values = {"version": version, "start": BEFORE_ALL, "force": force, "now": now}
    (through,) = connection.execute(query("begin_replan"), values).fetchone() or (None,)
    return through if isinstance(through, UUID) else None


def advance_replan(connection: Connection, *, through: UUID | None, now: datetime) -> None:
    """Remember how far it came; None: done."""
    connection.execute(query("advance_replan"), {"through": through, "now": now})


def lock_placed_jobs(connection: Connection, *, after: UUID, limit: int, now: datetime) -> list[PlacedJob]:
    """The next active jobs in the hot table, locked there."""
    values = {"after": after, "limit": limit, "now": now}
    rows = connection.execute(query("lock_placed_jobs"), values).fetchall()
    return [PlacedJob(*row) for row in rows]


def write_replanned(connection: Connection, replacements: Sequence[Replacement], *, now: datetime) -> None:
    """Move these jobs; their waiting runs are checked against the schedule when they are leased."""
    connection.execute(
        query("write_replanned"),
        {
            "job_ids": uuid_array([r.job_id for r in replacements]),
            "scheduled_for": instant_array([r.scheduled_for for r in replacements]),
            "next_run_at": instant_array([r.next_run_at for r in replacements]),
            "now": now,
        },
    )
