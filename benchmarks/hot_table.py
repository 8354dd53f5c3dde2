"""What the claim benchmarks share: a server of their own, a filled hot table, our claim and the barest SQL beside it.

The barest SQL does the same three writes for the same rows (insert the run, move the due row, all under SKIP LOCKED) in
one statement, with everything a scheduler decides left out: the next time is a constant away and nothing leaves the
server. No scheduler on this schema can be faster than it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from hourbell.local.postgres import throwaway_postgres
from hourbell.services.claim_due import claim_shards
from hourbell.store.bootstrap import bootstrap
from hourbell.store.connection import Database
from hourbell.store.migrate import migrate
from hourbell.store.partitions import make_partitions

# A Monday noon; every job of the benchmark is due then, and its next occurrence is a day or more away.
NOW = datetime(2027, 5, 10, 12, 0, tzinfo=UTC)
HORIZON = timedelta(seconds=120)
SHARDS = 128

# Full-page images (13 KB of WAL a claim at 10 M rows) would halve even the barest SQL and hide what is measured:
# a WAL that takes the whole run, and a checkpoint before each size. Aurora writes no full-page images at all.
SERVER = {
    "max_wal_size": "16GB",
    "shared_buffers": "2GB",
    "maintenance_work_mem": "1GB",
    "checkpoint_timeout": "1h",
    "synchronous_commit": "on",
    "fsync": "on",
    "full_page_writes": "on",
}

# 100 expressions that all fire at NOW and next at least a day later.
EXPRESSIONS = [f"0 12 {day} * {weekday}" for day in range(1, 21) for weekday in ("1", "1,2", "1-3", "1,4", "1,5")]

_SEED = """
insert into job (
    job_id, tenant_id, target_id, state, schedule, payload, catch_up, overlap, retry, timeout_ms, tags,
    created_at, updated_at
)
select
    gen_random_uuid(), %(tenant)s, %(target)s, 'active', (%(schedules)s::text [])[1 + n %% %(kinds)s], '{}',
    '{"policy": "run_once", "within": null}', 'allow', '{"max_attempts": 5}', 30000, '{}', %(now)s, %(now)s
from generate_series(1, %(count)s) as n
returning 1
"""

_DUE = """
insert into due (job_id, tenant_id, shard_id, next_run_at, scheduled_for)
select
    job.job_id, job.tenant_id, abs(hashtext(job.job_id::text)) %% 128,
    case when row_number() over () <= %(due)s then %(now)s else %(later)s end,
    case when row_number() over () <= %(due)s then %(now)s else %(later)s end
from job
where job.job_id not in (select due.job_id from due)
"""

_PENDING = """
insert into due (job_id, tenant_id, shard_id, next_run_at, scheduled_for)
select gen_random_uuid(), %(tenant)s, n %% 128, %(later)s + n * interval '1 s', %(later)s + n * interval '1 s'
from generate_series(1, %(count)s) as n
"""

BAREST = """
with claimed as materialized (
    select oldest.*
    from generate_series(0, 127) as shard (id)
    cross join lateral (
        select due.job_id, due.tenant_id, due.scheduled_for from due
        where due.shard_id = shard.id and due.next_run_at <= %(until)s
        order by due.next_run_at limit %(per_shard)s for update skip locked
    ) as oldest
),
inserted as (
    insert into run (
        job_id, scheduled_for, run_id, tenant_id, target_id, origin, lane, state, schedule_version,
        fire_at, next_attempt_at, wake_at, created_at
    )
    select
        job_id, scheduled_for, gen_random_uuid(), tenant_id, tenant_id, 'schedule', 'shared', 'queued', 1,
        scheduled_for, scheduled_for, scheduled_for + interval '30 s', %(now)s
    from claimed on conflict do nothing
),
moved as (
    update due
    set next_run_at = due.next_run_at + interval '1 day', scheduled_for = due.scheduled_for + interval '1 day'
    from claimed where due.job_id = claimed.job_id
)
select count(*) from claimed
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HotTable:
    """A database with jobs, of which some are due at ``NOW``."""

    conninfo: str

    def execute(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        """Run one statement, in its own transaction."""
        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            cursor = connection.execute(statement, values or None)  # type: ignore[arg-type]
            return cursor.fetchall() if cursor.description else []

    def make_all_due_again(self) -> None:
        """Forget the runs and put every job of the job table back to ``NOW``; then vacuum and write a checkpoint."""
        self.execute("truncate run, attempt")
        self.execute(
            "update due set next_run_at = %(now)s, scheduled_for = %(now)s from job "
            "where due.job_id = job.job_id and due.next_run_at <> %(now)s",
            now=NOW,
        )
        self.settle()

    def settle(self) -> None:
        """Vacuum and checkpoint, so that each measurement starts from the same state."""
        for statement in ("vacuum (analyze) due", "vacuum (analyze) run", "checkpoint"):
            self.execute(statement)


@contextlib.contextmanager
def hot_table(*, jobs: int) -> Iterator[HotTable]:
    """A server with ``jobs`` recurring jobs of 100 expressions, all due at ``NOW``."""
    with throwaway_postgres(settings=SERVER) as server:
        conninfo = server.conninfo()
        with psycopg.connect(conninfo, autocommit=True) as connection:
            bootstrap(connection)
            migrate(connection)
            make_partitions(connection, today=NOW.date())
        table = HotTable(conninfo=conninfo)
        (tenant,) = table.execute(
            "insert into tenant (tenant_id, name) values (gen_random_uuid(), 'a') returning tenant_id"
        )[0]
        (target,) = table.execute(
            "insert into target (target_id, tenant_id, kind, config, config_sha256, created_at, updated_at) "
            "values (gen_random_uuid(), %(tenant)s, 'http', '{}', '', now(), now()) returning target_id",
            tenant=tenant,
        )[0]
        schedules = [f'{{"cron": "{expression}", "timezone": "Europe/Berlin"}}' for expression in EXPRESSIONS]
        table.execute(
            _SEED, tenant=tenant, target=target, schedules=schedules, kinds=len(schedules), now=NOW, count=jobs
        )
        table.execute(_DUE, now=NOW, later=NOW + timedelta(days=30), due=jobs)
        table.execute("vacuum (analyze) job")
        table.settle()
        yield table


def add_pending(table: HotTable, count: int) -> None:
    """Add rows that are due in the far future: they must not cost a claim anything."""
    (tenant,) = table.execute("select tenant_id from tenant")[0]
    table.execute(_PENDING, tenant=tenant, later=NOW + timedelta(days=30), count=count)
    table.settle()


def our_claims_per_second(table: HotTable, *, batch: int, claims: int) -> float:
    """Claim with the product's own code, messages built and dropped, one claimer."""
    database = Database(table.conninfo)
    per_shard = max(1, batch // SHARDS)
    done, started = 0, time.perf_counter()
    while done < claims:
        claim = database.run(
            lambda connection: claim_shards(
                connection, first_shard=0, last_shard=SHARDS - 1, now=NOW, horizon=HORIZON, per_shard=per_shard
            )
        )
        if not claim.rows:
            break
        done += len(claim.messages)
    elapsed = time.perf_counter() - started
    database.close()
    return done / elapsed


def barest_claims_per_second(table: HotTable, *, batch: int, claims: int) -> float:
    """The same writes for the same rows in one statement, nothing decided, one claimer."""
    per_shard = max(1, batch // SHARDS)
    values = {"until": NOW + HORIZON, "now": NOW, "per_shard": per_shard}
    done, started = 0, time.perf_counter()
    with psycopg.connect(table.conninfo, autocommit=True) as connection:
        while done < claims:
            (rows,) = connection.execute(BAREST, values).fetchone()  # type: ignore[misc]
            if not rows:
                break
            done += rows
    return done / (time.perf_counter() - started)
