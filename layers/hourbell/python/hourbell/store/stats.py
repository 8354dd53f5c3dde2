"""What is counted for ``/v1/stats``, each count with a bound."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, cast
from uuid import UUID

from hourbell.store.connection import Connection
from hourbell.store.sql import query


class RunMeasures(NamedTuple):
    """Of the runs looked at. ``percentiles``: lateness in milliseconds at 50, 95 and 99 %; None where none started."""

    runs: int
    since: datetime | None
    states: dict[str, int]
    waiting: dict[str, int]
    percentiles: list[float] | None


def count_jobs_by_state(connection: Connection, tenant_id: UUID, *, limit: int) -> dict[str, int]:
    """By state, the newest ``limit`` jobs; states without any are left out."""
    rows = connection.execute(query("count_jobs_by_state"), {"tenant_id": tenant_id, "limit": limit}).fetchall()
    return {cast("str", state): cast("int", jobs) for state, jobs in rows}


def find_oldest_due(connection: Connection, *, per_shard: int, now: datetime) -> datetime | None:
    """When the most overdue job of the transaction's tenant should have been planned."""
    (found,) = connection.execute(query("find_oldest_due"), {"per_shard": per_shard, "now": now}).fetchone() or (None,)
    return cast("datetime | None", found)


def measure_runs(connection: Connection, tenant_id: UUID, *, since: datetime, limit: int, now: datetime) -> RunMeasures:
    """The latest ``limit`` runs whose time came after ``since``."""
    values = {"tenant_id": tenant_id, "since": since, "limit": limit, "now": now}
    measured = [RunMeasures(*row) for row in connection.execute(query("measure_runs"), values).fetchall()]
    found = measured[0]  # an aggregate without groups
    return found._replace(states=found.states or {}, waiting=found.waiting or {})
