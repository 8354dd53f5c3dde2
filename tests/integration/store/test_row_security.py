"""The last wall between tenants: what the API's role sees and writes when a query forgets the tenant."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest
from hourbell.store.tenant_database import Actor, introduce

from tests.seeds import T0, Seeder


@pytest.fixture
def seeders(conninfo: str) -> Iterator[list[Seeder]]:
    """Two tenants, each with a row in every table."""
    with psycopg.connect(conninfo, autocommit=True) as admin:
        ours = Seeder(admin)
        theirs = Seeder(admin, "globex")
        for seeder in (ours, theirs):
            fill(admin, seeder)
        yield [ours, theirs]


def fill(admin: psycopg.Connection, seeder: Seeder) -> None:
    job = seeder.job()
    seeder.run(job)
    admin.execute(
        "insert into attempt (run_id, scheduled_for, number, started_at) "
        "select run_id, scheduled_for, 1, scheduled_for from run where tenant_id = %s",
        (seeder.tenant_id,),
    )
    admin.execute("insert into missed values (%s, now(), now(), %s, 1, 'missed', now())", (job, seeder.tenant_id))
    admin.execute("insert into idempotent_request values (%s, 'k', '\\x00', 200, '{}', '', now())", (seeder.tenant_id,))


@pytest.fixture
def api(postgres, database_name) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.conninfo(database=database_name, user="hourbell_api")) as connection:
        yield connection


def introduced(connection: psycopg.Connection, tenant_id: UUID) -> psycopg.Connection:
    introduce(connection, Actor(tenant_id=tenant_id, key_id=tenant_id, request_id="r"))
    return connection


def readable(connection: psycopg.Connection) -> list[str]:
    """Every table that the connection's role may read, partitions too."""
    rows = connection.execute(
        "select relname from pg_class where relkind in ('r', 'p', 'v') and relnamespace = 'public'::regnamespace "
        "and has_any_column_privilege(oid, 'select') order by 1"
    )
    return [row[0] for row in rows]


def seen(connection: psycopg.Connection, table: str) -> int:
    (count,) = connection.execute(f"select count(*) from {table}").fetchone() or (0,)  # noqa: S608
    return count


def test_a_query_that_forgets_the_tenant_sees_nothing(seeders, api):
    tables = readable(api)

    assert {"tenant", "target", "job", "due", "run", "attempt", "missed", "idempotent_request"} <= set(tables)
    assert {table: seen(api, table) for table in tables} == dict.fromkeys(tables, 0)


def test_nor_more_than_one_tenants_rows_when_one_was_named(seeders, api):
    introduced(api, seeders[0].tenant_id)

    tables = ("tenant", "target", "job", "due", "run", "attempt", "missed", "searched_job", "stored_job")
    assert [seen(api, table) for table in tables] == [1] * len(tables)
    for table in ("job", "searched_job", "stored_job"):
        assert api.execute(f"select distinct tenant_id from {table}").fetchall() == [(seeders[0].tenant_id,)]  # noqa: S608


@pytest.mark.parametrize("function", ["waiting_jobs", "unfinished_jobs"])
def test_what_is_read_of_all_tenants_is_told_to_each_of_its_own(seeders, api, function: str):
    def told(most: int) -> list[UUID] | None:
        (found,) = api.execute(f"select {function}('infinity', %s)", (most,)).fetchone() or (None,)
        return found

    (ours,) = seeders[0].connection.execute(
        "select job_id from job where tenant_id = %s", (seeders[0].tenant_id,)
    ).fetchone() or (None,)

    assert told(2) == []
    introduced(api, seeders[0].tenant_id)
    assert told(2) == [ours]
    assert told(1) is None


def test_whose_a_transaction_was_is_forgotten_at_its_end(seeders, api):
    introduced(api, seeders[0].tenant_id)
    api.commit()

    assert seen(api, "job") == 0


def test_nothing_of_another_tenant_can_be_written(seeders, api):
    ours, theirs = seeders
    introduced(api, ours.tenant_id)

    for statement in (
        "update job set note = 'ours'",
        "update run set error = 'ours'",
        "update attempt set error = 'ours'",
        "update target set state = 'paused'",
        "update due set next_run_at = 'infinity'",
    ):
        assert api.execute(statement).rowcount == 1
    assert api.execute("delete from due where tenant_id = %s", (theirs.tenant_id,)).rowcount == 0


@pytest.mark.parametrize(
    "statement",
    [
        "insert into due values (gen_random_uuid(), %(theirs)s, 0, now(), now())",
        "update job set tenant_id = %(theirs)s",
        "insert into idempotent_request values (%(theirs)s, 'x', '', 200, '{}', '', now())",
        "insert into target (target_id, tenant_id, kind, config, config_sha256, created_at, updated_at) "
        "values (gen_random_uuid(), %(theirs)s, 'http', '{}', '', now(), now())",
    ],
)
def test_nor_given_to_another_tenant(seeders, api, statement: str):
    introduced(api, seeders[0].tenant_id)

    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        api.execute(statement, {"theirs": seeders[1].tenant_id})


def test_a_transaction_that_named_nobody_can_write_nothing(seeders, api):
    assert api.execute("update job set note = 'x'").rowcount == 0
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        api.execute("insert into due values (gen_random_uuid(), %s, 0, now(), now())", (seeders[0].tenant_id,))


def test_no_partition_can_be_read_around_its_table(seeders, api):
    seeders[0].connection.execute("select make_day_partitions(%s)", (T0.date(),))

    assert not [table for table in readable(api) if table.startswith(("run_", "attempt_"))]


def test_every_table_that_the_api_sees_is_under_a_policy(conninfo: str, api):
    """A new table: ``call separate_tenants(array['…'])`` in its migration."""
    rows = api.execute(
        "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') "
        "and has_any_column_privilege(oid, 'select, insert, update') and not relrowsecurity"
    ).fetchall()

    assert rows == []


def test_those_who_serve_all_tenants_see_all(seeders, postgres, database_name):
    for role in ("hourbell_scanner", "hourbell_worker"):
        with psycopg.connect(postgres.conninfo(database=database_name, user=role)) as connection:
            assert [seen(connection, table) for table in ("job", "due", "run", "attempt")] == [2] * 4


def test_policies_leave_the_index_in_use(seeders, api):
    """The policy's condition and the query's own are one: no second filter, no estimate of a share of a share."""
    tenant_id = seeders[0].tenant_id
    seeders[0].jobs(5_000)
    seeders[0].connection.execute("analyze job")
    introduced(api, tenant_id)

    rows = api.execute(
        "explain (costs off) select job_id from job where tenant_id = %s and state <> 'deleted' "
        "order by job_id desc limit 50",
        (tenant_id,),
    )
    plan = "\n".join(row[0] for row in rows)

    assert "job_tenant_idx" in plan
    assert "Sort" not in plan
    assert "Filter: (tenant_id" not in plan


def test_the_authorizer_sees_keys_and_how_often_a_tenant_may_call_and_nothing_else(
    conninfo: str, postgres, database_name
):
    with psycopg.connect(postgres.conninfo(database=database_name, user="hourbell_authorizer")) as connection:
        assert readable(connection) == ["api_key", "tenant"]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("select name from tenant")
