"""The locking select reads each shard's index range in order, whatever lies pending beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hourbell.local.postgres import PostgresServer
from hourbell.store.sql import query

from tests.seeds import T0

ROWS = 1_000_000
DUE = 100_000
BIG = UUID(int=1)


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
            select gen_random_uuid(), case when n <= %(due)s then %(big)s else gen_random_uuid() end, n %% 128, at, at
            from generate_series(1, %(rows)s) as n
            cross join lateral (
                select %(now)s::timestamptz
                    + case when n <= %(due)s then interval '0' else n * interval '1 minute' end as at
            ) as times
            """,
            {"rows": ROWS, "due": DUE, "now": T0, "big": BIG},
        )
        connection.execute("vacuum (analyze) due")
        yield connection


def nodes(plan: dict[str, Any]):
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def explain(
    connection: psycopg.Connection[Any], name: str = "lock_due_of_shards", **values: Any
) -> list[dict[str, Any]]:
    statement = b"explain (analyze, buffers, format json) " + query(name).split(b"\n", 2)[2]
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


def test_looking_past_a_tenant_reads_index_ranges_in_order_as_far_as_it_may_and_sorts_nothing(million):
    plan = explain(million, "find_due_past_tenants", tenant_ids=[BIG], look_ahead=500)

    scans = [node for node in plan if node.get("Relation Name") == "due"]
    assert [(node["Node Type"], node["Index Name"]) for node in scans] == [("Index Scan", "due_shard_next_idx")]
    assert "next_run_at <=" in scans[0]["Index Cond"]
    assert not [node for node in plan if "Sort" in node["Node Type"] or "Hash" in node["Node Type"]]
    # of the 781 that are due in each shard, and of the 7,812 that stand there
    assert scans[0]["Actual Rows"] * scans[0]["Actual Loops"] == 128 * 500


def test_what_was_found_is_locked_by_its_key(million):
    found = million.execute("select job_id from due where tenant_id <> %s limit 200", (BIG,)).fetchall()
    statement = b"explain (format json) " + query("lock_found_due").split(b"\n", 1)[1]
    (row,) = million.execute(
        statement, {"job_ids": [job_id for (job_id,) in found], "until": T0 + timedelta(days=900)}
    ).fetchall()
    indexes = [node["Index Name"] for node in nodes(row[0][0]["Plan"]) if "Index Name" in node]
    assert indexes == ["due_pkey"]


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
