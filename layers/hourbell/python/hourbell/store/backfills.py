"""The runs of a backfill."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, cast
from uuid import UUID

from hourbell.domain.ids import run_id
from hourbell.store.arrays import instant_array, text_array, uuid_array
from hourbell.store.connection import Connection
from hourbell.store.jobs import StoredJob
from hourbell.store.sql import query


class BackfillRun(NamedTuple):
    """A run to be inserted. ``reason``: ``backfill`` while it waits to be given its moment."""

    scheduled_for: datetime
    fire_at: datetime
    wake_at: datetime
    reason: str | None


def find_runs_of_job(
    connection: Connection, tenant_id: UUID, job_id: UUID, occurrences: Sequence[datetime]
) -> dict[datetime, str]:
    """By occurrence, the states of the runs of those that have one; ``occurrences`` in order."""
    values = {
        "tenant_id": tenant_id,
        "job_id": job_id,
        "first": occurrences[0],
        "last": occurrences[-1],
        "scheduled_for": instant_array(occurrences),
    }
    rows = connection.execute(query("find_runs_of_job"), values).fetchall()
    return {cast("datetime", scheduled_for): cast("str", state) for scheduled_for, state in rows}


def insert_backfill_runs(
    connection: Connection,
    tenant_id: UUID,
    job: StoredJob,
    runs: Sequence[BackfillRun],
    *,
    lane: str,
    now: datetime,
) -> set[datetime]:
    """Insert runs, which are in order; the occurrences that had none until now."""
    values = {
        "tenant_id": tenant_id,
        "job_id": job.job_id,
        "target_id": job.target_id,
        "lane": lane,
        "schedule_version": job.schedule_version,
        "scheduled_for": instant_array([run.scheduled_for for run in runs]),
        "run_ids": uuid_array([run_id(job.job_id, run.scheduled_for) for run in runs]),
        "reasons": text_array([run.reason for run in runs]),
        "fire_at": instant_array([run.fire_at for run in runs]),
        "wake_at": instant_array([run.wake_at for run in runs]),
        "now": now,
    }
    rows = connection.execute(query("insert_backfill_runs"), values).fetchall()
    return {cast("datetime", row[0]) for row in rows}
