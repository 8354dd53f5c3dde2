"""Jobs and their place in the hot table, as the API reads and writes them.

Lock order of everyone who edits: the due row, then the job (as a claim does), so that no two can wait for each other.
A paused job keeps its due row, parked at ``infinity``: no claim reaches it, and the oldest unplanned occurrence is
still known when the job resumes and catches up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from uuid import UUID

from hourbell.domain.ids import run_id, shard_of
from hourbell.store.arrays import instant_array, integer_array, text_array, uuid_array
from hourbell.store.connection import Connection
from hourbell.store.constraints import translated
from hourbell.store.sql import query

if TYPE_CHECKING:
    from hourbell.domain.planning import PlannedRun


class StoredJob(NamedTuple):
    """A job with its target and its due row. ``schedule``, ``payload``, ``catch_up``, ``retry``, ``tags``: JSON text.

    ``skipped``: occurrences that its user took out. ``unfinished``: a completed job whose run has not ended.
    """

    unfinished: bool
    job_id: UUID
    tenant_id: UUID
    name: str | None
    target_id: UUID
    target_name: str | None
    target_kind: str
    target_config: str
    state: str
    schedule: str
    schedule_version: int
    payload: str
    window_ms: int
    catch_up: str
    overlap: str
    retry: str
    timeout_ms: int
    tags: str
    runs_planned: int
    skipped: list[datetime]
    error: str | None
    note: str | None
    version: int
    created_at: datetime
    updated_at: datetime
    due_scheduled_for: datetime | None


class JobValues(NamedTuple):
    """What an insert or an update writes of a job's definition."""

    name: str | None
    target_id: UUID
    state: str
    schedule: str
    payload: str
    window_ms: int
    catch_up: str
    overlap: str
    retry: str
    timeout_ms: int
    tags: str


class NewJob(NamedTuple):
    """A job to be inserted, with its first occurrence and when that is claimed."""

    job_id: UUID
    values: JobValues
    scheduled_for: datetime
    fire_at: datetime


def stored_jobs(rows: Iterable[Sequence[Any]]) -> list[StoredJob]:
    """Rows that begin with a StoredJob's fields: a view may have got a column more while this release runs."""
    return [StoredJob._make(row[: len(StoredJob._fields)]) for row in rows]


def fetch_job(connection: Connection, tenant_id: UUID, job_id: UUID) -> StoredJob | None:
    """The tenant's job, unless there is none or it was deleted."""
    found = stored_jobs(connection.execute(query("fetch_job"), {"tenant_id": tenant_id, "job_id": job_id}).fetchall())
    return found[0] if found else None


def lock_job(connection: Connection, tenant_id: UUID, job_id: UUID) -> StoredJob | None:
    """As ``fetch_job``, with the job and its due row locked until the transaction ends."""
    key = {"tenant_id": tenant_id, "job_id": job_id}
    connection.execute(query("lock_job_due"), key)
    if connection.execute(query("lock_job"), key).fetchone() is None:
        return None
    return fetch_job(connection, tenant_id, job_id)


def insert_job(connection: Connection, tenant_id: UUID, job_id: UUID, values: JobValues, *, now: datetime) -> bool:
    """Insert a job; False when it is there already, by a transaction whose commit was not heard of.

    Raises:
        ConflictError: the name is taken.
    """
    with translated():
        inserted = connection.execute(
            query("insert_job"), {**values._asdict(), "tenant_id": tenant_id, "job_id": job_id, "now": now}
        )
    return inserted.rowcount == 1


def insert_thawed_job(
    connection: Connection,
    tenant_id: UUID,
    job_id: UUID,
    values: JobValues,
    *,
    version: int,
    created_at: datetime,
    shard_id: int,
    scheduled_for: datetime,
    next_run_at: datetime,
) -> None:
    """Insert a job that was taken out of the cold tier in this transaction, as it was created, with its place."""
    place = {"shard_id": shard_id, "scheduled_for": scheduled_for, "next_run_at": next_run_at}
    born = {"version": version, "created_at": created_at}
    connection.execute(
        query("insert_thawed_job"), {**values._asdict(), **place, **born, "tenant_id": tenant_id, "job_id": job_id}
    )


def fetch_jobs(connection: Connection, tenant_id: UUID, job_ids: Sequence[UUID]) -> dict[UUID, StoredJob]:
    """The tenant's jobs among these, by id."""
    rows = connection.execute(query("fetch_jobs"), {"tenant_id": tenant_id, "job_ids": list(job_ids)})
    return {job.job_id: job for job in stored_jobs(rows.fetchall())}


def insert_jobs(connection: Connection, tenant_id: UUID, made: Sequence[NewJob], *, now: datetime) -> set[UUID]:
    """Insert jobs with their places in the hot table; the ids of those whose name was not taken."""
    texts = ("name", "schedule", "payload", "catch_up", "retry", "tags")
    columns = {name: text_array([getattr(job.values, name) for job in made]) for name in texts}
    rows = connection.execute(
        query("insert_jobs"),
        {
            **columns,
            "state": text_array([job.values.state for job in made]),
            "overlap": text_array([job.values.overlap for job in made]),
            "target_id": uuid_array([job.values.target_id for job in made]),
            "window_ms": integer_array([job.values.window_ms for job in made]),
            "timeout_ms": integer_array([job.values.timeout_ms for job in made]),
            "job_ids": uuid_array([job.job_id for job in made]),
            "shard_ids": integer_array([shard_of(job.job_id) for job in made]),
            "scheduled_for": instant_array([job.scheduled_for for job in made]),
            "fire_at": instant_array([job.fire_at for job in made]),
            "tenant_id": tenant_id,
            "now": now,
        },
    )
    return {cast("UUID", row[0]) for row in rows.fetchall()}


def update_job(
    connection: Connection,
    tenant_id: UUID,
    job_id: UUID,
    values: JobValues,
    *,
    schedule_step: int,
    unplanned: int,
    error: str | None,
    now: datetime,
) -> None:
    """Write a locked job. ``schedule_step``: 1 when the schedule changed; ``unplanned``: runs no longer counted.

    Raises:
        ConflictError: the name is taken.
    """
    step = {"schedule_step": schedule_step, "unplanned": unplanned, "error": error}
    with translated():
        connection.execute(
            query("update_job"),
            {**values._asdict(), **step, "tenant_id": tenant_id, "job_id": job_id, "now": now},
        )


def set_job_state(
    connection: Connection,
    tenant_id: UUID,
    job_id: UUID,
    *,
    state: str,
    note: str | None,
    unplanned: int = 0,
    now: datetime,
) -> None:
    """Move a locked job to another state."""
    step = {"state": state, "note": note, "unplanned": unplanned, "now": now}
    connection.execute(query("set_job_state"), {**step, "tenant_id": tenant_id, "job_id": job_id})


def lock_next_run(
    connection: Connection, tenant_id: UUID, job_id: UUID, *, after: datetime, now: datetime
) -> datetime | None:
    """The job's first planned occurrence after ``after`` whose run starts after ``now``; the run is locked."""
    values = {"tenant_id": tenant_id, "job_id": job_id, "after": after, "now": now}
    row = connection.execute(query("lock_next_run"), values).fetchone()
    return None if row is None else cast("datetime", row[0])


def find_last_planned(connection: Connection, tenant_id: UUID, job_id: UUID, *, after: datetime) -> datetime | None:
    """The job's latest occurrence after ``after`` that has a run."""
    values = {"tenant_id": tenant_id, "job_id": job_id, "after": after}
    (found,) = connection.execute(query("find_last_planned"), values).fetchone() or (None,)
    return cast("datetime | None", found)


def skip_run(
    connection: Connection, stored: StoredJob, tenant_id: UUID, run: PlannedRun, *, lane: str, now: datetime
) -> None:
    """Record this occurrence of a locked job as skipped, whether or not it has a run that waits."""
    values = {
        "job_id": stored.job_id,
        "scheduled_for": run.scheduled_for,
        "run_id": run_id(stored.job_id, run.scheduled_for),
        "tenant_id": tenant_id,
        "target_id": stored.target_id,
        "lane": lane,
        "schedule_version": stored.schedule_version,
        "fire_at": run.fire_at,
        "now": now,
    }
    connection.execute(query("skip_run"), values)


def write_skip(
    connection: Connection,
    tenant_id: UUID,
    job_id: UUID,
    *,
    state: str,
    skipped: Sequence[datetime],
    unplanned: int,
    now: datetime,
) -> None:
    """Write what a locked job passes over. ``unplanned``: runs no longer counted."""
    values = {"state": state, "skipped": list(skipped), "unplanned": unplanned, "now": now}
    connection.execute(query("write_skip"), {**values, "tenant_id": tenant_id, "job_id": job_id})


def put_due(
    connection: Connection,
    tenant_id: UUID,
    job_id: UUID,
    *,
    shard_id: int,
    scheduled_for: datetime,
    next_run_at: datetime,
) -> None:
    """Make this the job's next occurrence."""
    place = {"shard_id": shard_id, "scheduled_for": scheduled_for, "next_run_at": next_run_at}
    connection.execute(query("put_due"), {**place, "tenant_id": tenant_id, "job_id": job_id})


def park_due(connection: Connection, tenant_id: UUID, job_id: UUID, *, shard_id: int) -> None:
    """Take the job out of reach of every claim, its oldest occurrence that has not fired kept."""
    connection.execute(query("park_due"), {"tenant_id": tenant_id, "job_id": job_id, "shard_id": shard_id})


def park_due_at(
    connection: Connection, tenant_id: UUID, job_id: UUID, *, shard_id: int, scheduled_for: datetime
) -> None:
    """As ``park_due``, at another occurrence."""
    place = {"shard_id": shard_id, "scheduled_for": scheduled_for}
    connection.execute(query("park_due_at"), {**place, "tenant_id": tenant_id, "job_id": job_id})


def delete_due(connection: Connection, tenant_id: UUID, job_id: UUID) -> None:
    """Take the job out of the hot table."""
    connection.execute(query("delete_due"), {"tenant_id": tenant_id, "job_id": job_id})


def count_planned_ahead(connection: Connection, job_ids: Sequence[UUID], *, now: datetime) -> dict[UUID, int]:
    """By job, how many runs wait for an occurrence after ``now``; jobs without any are left out."""
    rows = connection.execute(query("count_planned_ahead"), {"job_ids": list(job_ids), "now": now}).fetchall()
    return {cast("UUID", job_id): cast("int", runs) for job_id, runs in rows}
