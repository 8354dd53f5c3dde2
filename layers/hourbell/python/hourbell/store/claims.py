"""The three statements of a claim: lock the due rows, read their jobs, write what was planned.

Invariant: an occurrence leaves the hot table in the same transaction in which its run appears. Whoever holds the lock
on a job's due row is the only one who plans it, and everybody who edits a schedule takes that lock too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from hourbell.domain.recovery import WAKE_GRACE
from hourbell.store.arrays import BinaryArray, instant_array, integer_array, text_array, uuid_array
from hourbell.store.connection import Connection
from hourbell.store.sql import query


class DueRow(NamedTuple):
    """A locked row of the hot table."""

    job_id: UUID
    tenant_id: UUID
    scheduled_for: datetime
    next_run_at: datetime


@dataclass(slots=True)
class JobRow:
    """A job as planning sees it; ``schedule`` and ``catch_up`` are JSON text, parsed once per distinct text."""

    job_id: UUID
    target_id: UUID
    state: str
    schedule: str
    schedule_version: int
    window_ms: int
    catch_up: str
    timeout_ms: int
    target_kind: str
    runs_planned: int
    skipped: list[datetime]


@dataclass(slots=True)
class ClaimWrites:
    """Column by column what a claim writes, as ``write_claim.sql`` takes it."""

    now: datetime
    run_job_ids: list[UUID] = field(default_factory=list)
    run_scheduled_for: list[datetime] = field(default_factory=list)
    run_ids: list[UUID] = field(default_factory=list)
    run_tenant_ids: list[UUID] = field(default_factory=list)
    run_target_ids: list[UUID] = field(default_factory=list)
    run_lanes: list[str] = field(default_factory=list)
    run_schedule_versions: list[int] = field(default_factory=list)
    run_fire_at: list[datetime] = field(default_factory=list)
    skipped_job_ids: list[UUID] = field(default_factory=list)
    skipped_scheduled_for: list[datetime] = field(default_factory=list)
    skipped_ids: list[UUID] = field(default_factory=list)
    skipped_tenant_ids: list[UUID] = field(default_factory=list)
    skipped_target_ids: list[UUID] = field(default_factory=list)
    skipped_reasons: list[str] = field(default_factory=list)
    skipped_schedule_versions: list[int] = field(default_factory=list)
    moved_job_ids: list[UUID] = field(default_factory=list)
    moved_next_run_at: list[datetime] = field(default_factory=list)
    moved_scheduled_for: list[datetime] = field(default_factory=list)
    removed_job_ids: list[UUID] = field(default_factory=list)
    counted_job_ids: list[UUID] = field(default_factory=list)
    counted_runs: list[int] = field(default_factory=list)
    completed_job_ids: list[UUID] = field(default_factory=list)
    completed_runs: list[int] = field(default_factory=list)
    broken_job_ids: list[UUID] = field(default_factory=list)
    broken_errors: list[str] = field(default_factory=list)
    missed_job_ids: list[UUID] = field(default_factory=list)
    missed_first: list[datetime] = field(default_factory=list)
    missed_last: list[datetime] = field(default_factory=list)
    missed_tenant_ids: list[UUID] = field(default_factory=list)
    missed_occurrences: list[int] = field(default_factory=list)
    missed_reasons: list[str] = field(default_factory=list)


_COLUMNS: tuple[tuple[Callable[[Any], BinaryArray | str], tuple[str, ...]], ...] = (
    (
        uuid_array,
        (
            "run_job_ids",
            "run_ids",
            "run_tenant_ids",
            "run_target_ids",
            "skipped_job_ids",
            "skipped_ids",
            "skipped_tenant_ids",
            "skipped_target_ids",
            "moved_job_ids",
            "removed_job_ids",
            "counted_job_ids",
            "completed_job_ids",
            "broken_job_ids",
            "missed_job_ids",
            "missed_tenant_ids",
        ),
    ),
    (
        instant_array,
        (
            "run_scheduled_for",
            "run_fire_at",
            "skipped_scheduled_for",
            "moved_next_run_at",
            "moved_scheduled_for",
            "missed_first",
            "missed_last",
        ),
    ),
    (
        integer_array,
        ("run_schedule_versions", "skipped_schedule_versions", "counted_runs", "completed_runs", "missed_occurrences"),
    ),
    (text_array, ("run_lanes", "skipped_reasons", "missed_reasons")),
)


def lock_due_of_shards(
    connection: Connection, *, first_shard: int, last_shard: int, until: datetime, per_shard: int
) -> list[DueRow]:
    """Lock up to ``per_shard`` due rows of each shard of the range, oldest first within the shard."""
    cursor = connection.cursor(binary=True)
    cursor.execute(
        query("lock_due_of_shards"),
        {"first_shard": first_shard, "last_shard": last_shard, "until": until, "per_shard": per_shard},
    )
    return [DueRow(*row) for row in cursor.fetchall()]


def lock_due_past_tenants(
    connection: Connection,
    tenant_ids: Sequence[UUID],
    *,
    first_shard: int,
    last_shard: int,
    until: datetime,
    per_shard: int,
    look_ahead: int,
) -> list[DueRow]:
    """As ``lock_due_of_shards``, of all tenants but these, as far as ``look_ahead`` rows of each shard reach."""
    found = connection.execute(
        query("find_due_past_tenants"),
        {
            "tenant_ids": uuid_array(tenant_ids),
            "first_shard": first_shard,
            "last_shard": last_shard,
            "until": until,
            "per_shard": per_shard,
            "look_ahead": look_ahead,
        },
    ).fetchall()
    if not found:
        return []
    cursor = connection.cursor(binary=True)
    cursor.execute(query("lock_found_due"), {"job_ids": uuid_array([row[0] for row in found]), "until": until})
    return [DueRow(*row) for row in cursor.fetchall()]


def lock_due_of_jobs(connection: Connection, job_ids: Sequence[UUID], *, until: datetime) -> list[DueRow]:
    """Lock the due rows of these jobs that lie within the horizon."""
    cursor = connection.cursor(binary=True)
    cursor.execute(query("lock_due_of_jobs"), {"job_ids": list(job_ids), "until": until})
    return [DueRow(*row) for row in cursor.fetchall()]


def fetch_plannable_jobs(connection: Connection, job_ids: Sequence[UUID]) -> dict[UUID, JobRow]:
    """The jobs by id, as they are now."""
    cursor = connection.cursor(binary=True)
    cursor.execute(query("fetch_plannable_jobs"), {"job_ids": uuid_array(job_ids)})
    rows = [JobRow(*row) for row in cursor.fetchall()]
    return {row.job_id: row for row in rows}


def write_claim(connection: Connection, writes: ClaimWrites) -> None:
    """Write a whole claim in one statement."""
    values: dict[str, object] = {"now": writes.now, "grace": WAKE_GRACE, "broken_errors": writes.broken_errors}
    for encode, names in _COLUMNS:
        for name in names:
            values[name] = encode(getattr(writes, name))
    connection.execute(query("write_claim"), values)


def wake_unsent(connection: Connection, runs: Sequence[tuple[UUID, datetime]], *, now: datetime) -> None:
    """Have the reaper send these runs again at once."""
    ordered = sorted(runs)
    connection.execute(
        query("wake_unsent"),
        {"job_ids": [run[0] for run in ordered], "scheduled_for": [run[1] for run in ordered], "now": now},
    )
