"""How a tenant is doing, at a bounded cost: nothing here looks at more than so many rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from hourbell.store import stats
from hourbell.store.cold import count_cold_jobs
from hourbell.store.connection import Connection, Database
from hourbell.store.stats import RunMeasures

JOBS_LOOKED_AT = 100_000
RUNS_LOOKED_AT = 100_000
DUE_LOOKED_AT_PER_SHARD = 1_000
SPAN = timedelta(hours=1)
COLD_HOURS = 168


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """``jobs``: hot ones by state. ``runs``: of the last hour. ``…_capped``: there are more than were counted.

    ``cold``: jobs of the cold tier by the hour in which they are due, the next ``COLD_HOURS`` that have any.
    """

    jobs: dict[str, int]
    jobs_capped: bool
    oldest_due_at: datetime | None
    runs: RunMeasures
    runs_capped: bool
    cold: dict[int, int]
    cold_capped: bool


def get_stats(database: Database, tenant_id: UUID, *, now: datetime) -> Stats:
    """Count and measure."""

    def read(connection: Connection) -> Stats:
        jobs = stats.count_jobs_by_state(connection, tenant_id, limit=JOBS_LOOKED_AT)
        runs = stats.measure_runs(connection, tenant_id, since=now - SPAN, limit=RUNS_LOOKED_AT, now=now)
        cold = count_cold_jobs(connection, tenant_id, limit=COLD_HOURS + 1)
        return Stats(
            jobs=jobs,
            jobs_capped=sum(jobs.values()) >= JOBS_LOOKED_AT,
            oldest_due_at=stats.find_oldest_due(connection, per_shard=DUE_LOOKED_AT_PER_SHARD, now=now),
            runs=runs,
            runs_capped=runs.runs >= RUNS_LOOKED_AT,
            cold=dict(sorted(cold.items())[:COLD_HOURS]),
            cold_capped=len(cold) > COLD_HOURS,
        )

    return database.run(read)
