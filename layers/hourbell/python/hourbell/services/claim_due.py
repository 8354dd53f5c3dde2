"""Claiming: the due jobs of a shard range, or of a given few, become runs.

The scanner and the API share this code, so a job created inside the horizon is planned exactly as one that was found
by a scan. Everything happens inside the caller's transaction; the messages go out after its commit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from uuid import UUID

from hourbell.lanes.messages import LaneMessage
from hourbell.store import claims
from hourbell.store.claims import DueRow
from hourbell.store.connection import Connection

# Runs that one claim makes, about: thousands of per-second jobs at once must neither hold a transaction for long nor
# keep an API call waiting. What is left of a job stays due, and the next claim goes on there.
SCAN_RUNS = 20_000
CALL_RUNS = 5_000
LEAST_RUNS_PER_JOB = 5


# Numbers are compared and counted by the interpreter itself, UUIDs by their methods: a tenth of a claim's time.
_job_order = attrgetter("job_id.int")
_tenant_number = attrgetter("tenant_id.int")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one claim did.

    ``rows``: due rows taken; ``had``: how many rows and runs each tenant had of it; ``broken``: jobs that could not be
    planned.
    """

    rows: int
    messages: list[LaneMessage]
    broken: int
    had: Mapping[UUID, int]


def claim_shards(
    connection: Connection,
    *,
    first_shard: int,
    last_shard: int,
    now: datetime,
    horizon: timedelta,
    per_shard: int,
    past: Sequence[UUID] = (),
    look_ahead: int = 0,
) -> Claim:
    """Claim the oldest due rows of each shard up to the horizon; no rows: nothing is due there now.

    ``past``: tenants whose rows are looked past, as far as ``look_ahead`` rows of each shard reach.
    """
    until = now + horizon
    if past:
        rows = claims.lock_due_past_tenants(
            connection,
            past,
            first_shard=first_shard,
            last_shard=last_shard,
            until=until,
            per_shard=per_shard,
            look_ahead=look_ahead,
        )
    else:
        rows = claims.lock_due_of_shards(
            connection, first_shard=first_shard, last_shard=last_shard, until=until, per_shard=per_shard
        )
    return _claim_rows(connection, rows, now=now, until=until, runs=SCAN_RUNS)


def claim_jobs(
    connection: Connection, job_ids: Sequence[UUID], *, now: datetime, horizon: timedelta
) -> list[LaneMessage]:
    """Claim exactly these jobs, as far as they are due within the horizon; of very many, a scan does the rest."""
    until = now + horizon
    rows = claims.lock_due_of_jobs(connection, job_ids, until=until)
    return _claim_rows(connection, rows, now=now, until=until, runs=CALL_RUNS).messages


def _claim_rows(connection: Connection, rows: Sequence[DueRow], *, now: datetime, until: datetime, runs: int) -> Claim:
    if not rows:
        return Claim(rows=0, messages=[], broken=0, had={})
    # Here, so that a scanner starting on a quiet minute does not import how schedules are computed.
    from hourbell.services.pace_jobs import pace_jobs
    from hourbell.services.plan_due import Planner

    jobs = claims.fetch_plannable_jobs(connection, [row.job_id for row in rows])
    planner = Planner(now=now, until=until, runs_per_job=max(LEAST_RUNS_PER_JOB, runs // len(rows)))
    planned = [
        job
        for row in sorted(rows, key=_job_order)  # writers that meet take their locks in the same order
        if (job := planner.plan(row, jobs.get(row.job_id))) is not None
    ]
    for job in pace_jobs(connection, planned, now=now, until=until):
        planner.gather(job)
    claims.write_claim(connection, planner.writes)
    return Claim(
        rows=len(rows),
        messages=planner.messages,
        broken=len(planner.writes.broken_job_ids),
        had=_count_by_tenant(rows, planner.messages),
    )


def _count_by_tenant(rows: Sequence[DueRow], messages: Sequence[LaneMessage]) -> Mapping[UUID, int]:
    had = Counter(map(_tenant_number, rows))
    had.update(map(_tenant_number, messages))
    return {UUID(int=number): count for number, count in had.items()}
