"""The locking select reads each shard's index range in order, whatever lies pending beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from hourbell.local.postgres import PostgresServer
from hourbell.store.sql import query

from tests.seeds import T0

ROWS = 1_000_000
DUE = 100_000


@pytest.fixture(scope="module")
def million(postgres: PostgresServer, template_database: str) -> Iterator[psycopg.Connection[Any]]:
    """A million pending rows, a hundred thousand of them due at the same instant."""
    with psycopg.connect(postgres.conninfo(), autocommit=True) as connection:
        connection.execute(f"create database million template {template_database}")  # type: ignore[arg-type]
    with psycopg.connect(postgres.conninfo(database="million"), autocommit=True) as connection:
        connection.execute("alter table due set (autovacuum_enabled = off)")
        connection.execute(
            """
            insert into due (job_id, tenant_id, shard_id, next_run_at, scheduled_for)
            select gen_random_uuid(), gen_random_uuid(), n %% 128, at, at
            from generate_series(1, %(rows)s) as n
            cross join lateral (
                select %(now)s::timestamptz
                    + case when n <= %(due)s then interval '0' else n * interval '1 minute' end as at
            ) as times
            """,
            {"rows": ROWS, "due": DUE, "now": T0},
        )
        connection.execute("vacuum (analyze) due")
        yield connection


def nodes(plan: dict[str, Any]):
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def explain(connection: psycopg.Connection[Any], **values: Any) -> list[dict[str, Any]]:
    statement = b"explain (analyze, buffers, format json) " + query("lock_due_of_shards").split(b"\n", 2)[2]
    with connection.transaction(force_rollback=True):
        (row,) = connection.execute(
            statement,
            {"first_shard": 0, "last_shard": 127, "until": T0 + timedelta(seconds=120), "per_shard": 16, **values},
        ).fetchall()
    (plan,) = row[0] if not isinstance(row[0], str) else json.loads(row[0])
    return list(nodes(plan["Plan"]))


def test_a_claim_reads_index_ranges_in_order_and_sorts_nothing(million):
    plan = explain(million)

    scans = [node for node in plan if node.get("Relation Name") == "due"]
    assert [node["Node Type"] for node in scans] == ["Index Scan"]
    assert scans[0]["Index Name"] == "due_shard_next_idx"
    assert "shard_id = shard.id" in scans[0]["Index Cond"]
    assert "next_run_at <=" in scans[0]["Index Cond"]
    assert not [node for node in plan if "Sort" in node["Node Type"]]
    # 128 shards x 16 rows, and not one row more was read of the hundred thousand that are due
    assert scans[0]["Actual Rows"] * scans[0]["Actual Loops"] == 128 * 16


def test_an_empty_poll_reads_no_row(million):
    scans = [node for node in explain(million, until=T0 - timedelta(seconds=1)) if node.get("Relation Name") == "due"]
    assert scans[0]["Actual Rows"] == 0
    assert scans[0]["Shared Hit Blocks"] + scans[0]["Shared Read Blocks"] < 128 * 5


def test_the_reaper_finds_wakeful_runs_by_their_index(million):
    million.execute(
        """
        insert into run (job_id, scheduled_for, run_id, tenant_id, target_id, origin, lane, state, schedule_version,
                         fire_at, next_attempt_at, wake_at, created_at)
        select gen_random_uuid(), at, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'schedule', 'shared',
               case when n %% 100 = 0 then 'queued' else 'succeeded' end, 1, at, at,
               case when n %% 100 = 0 then at end, at
        from generate_series(1, 100000) as n
        cross join lateral (select %(now)s::timestamptz + n * interval '1 s' as at) as times
        """,
        {"now": T0},
    )
    million.execute("vacuum (analyze) run")
    statement = b"explain (format json) " + query("lock_wakeful_runs").split(b"\n", 1)[1]
    (row,) = million.execute(statement, {"now": T0 + timedelta(minutes=5), "limit": 1000}).fetchall()
    plan = list(nodes(row[0][0]["Plan"]))
    assert [n["Index Name"] for n in plan if n.get("Relation Name") == "run_default"] == ["run_default_wake_at_idx"]
    assert not [n for n in plan if n["Node Type"] == "Sort"]
