"""How many jobs a tenant has: kept by the database itself, whoever changes them, in both tiers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.seeds import T0, Seeder

HOUR = 500_000


@pytest.fixture
def seed(conninfo: str) -> Iterator[Seeder]:
    with psycopg.connect(conninfo, autocommit=True) as admin:
        yield Seeder(admin)


def counted(seed: Seeder) -> dict[Any, int]:
    rows = seed.rows("select tenant_id, sum(jobs)::integer from job_change group by tenant_id having sum(jobs) <> 0")
    return dict(rows)


def test_each_state_counts_as_it_should(seed: Seeder):
    jobs = seed.jobs(4)
    other = seed.tenant("other")
    seed.jobs(2, tenant_id=other)
    assert counted(seed) == {seed.tenant_id: 4, other: 2}

    for job_id, state in zip(jobs, ("paused", "completed", "deleted", "active"), strict=True):
        seed.connection.execute("update job set state = %s where job_id = %s", (state, job_id))

    assert counted(seed) == {seed.tenant_id: 2, other: 2}
    seed.connection.execute("update job set state = 'active' where state = 'completed'")
    assert counted(seed) == {seed.tenant_id: 3, other: 2}


def test_an_edit_that_ends_nothing_writes_no_change(seed: Seeder):
    seed.jobs(3)
    seed.connection.execute("truncate job_change")

    seed.connection.execute("update job set note = 'x', version = version + 1")

    assert seed.rows("select count(*) from job_change") == [(0,)]


def test_a_cold_job_counts_from_its_acceptance_to_its_end(seed: Seeder, postgres, database_name):
    promoted, cancelled = uuid4(), uuid4()
    seed.connection.execute("insert into cold_bucket (due_hour) values (%s)", (HOUR,))
    for job_id in (promoted, cancelled):
        seed.connection.execute(
            "insert into cold_intake values (%s, %s, %s, %s, '', %s)",
            (job_id, HOUR, seed.tenant_id, seed.target_id, T0),
        )
    assert counted(seed) == {seed.tenant_id: 2}

    seed.connection.execute("delete from cold_intake")  # frozen: they stand in a segment now
    seed.connection.execute(
        "insert into cold_tombstone values (%s, %s, %s, %s, true, %s)",
        (cancelled, HOUR, seed.tenant_id, seed.target_id, T0),
    )
    with psycopg.connect(postgres.conninfo(database=database_name, user="hourbell_loader")) as loader:
        loader.execute(
            "insert into job (job_id, tenant_id, target_id, state, schedule, payload, catch_up, overlap, retry, "
            "timeout_ms, tags, created_at, updated_at) "
            "values (%s, %s, %s, 'active', '{}', '', '{}', 'allow', '{}', 5000, '{}', now(), now())",
            (promoted, seed.tenant_id, seed.target_id),
        )

    assert counted(seed) == {seed.tenant_id: 1}
