from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from hourbell.domain.run_state import JobState, Lane, RunOrigin, RunState
from hourbell.domain.target_kind import TargetKind
from hourbell.local.postgres import PostgresServer
from hourbell.store import migrate as module
from hourbell.store.bootstrap import ROLES, bootstrap
from hourbell.store.migrate import MigrationError, migrate, migrations


def test_migrations_apply_once(conninfo: str):
    with psycopg.connect(conninfo, autocommit=True) as connection:
        assert migrate(connection) == []
        ledger = connection.execute("select number, name from schema_migration order by number").fetchall()
    assert ledger == [(migration.number, migration.name) for migration in migrations()]


def test_two_deploys_at_once_take_turns(postgres: PostgresServer):
    with psycopg.connect(postgres.conninfo(), autocommit=True) as admin:
        admin.execute("create database two_deploys")
    conninfo = postgres.conninfo(database="two_deploys")

    def deploy(_: int) -> list[str]:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            bootstrap(connection)
            return migrate(connection)

    with ThreadPoolExecutor(2) as pool:
        applied = sorted(pool.map(deploy, range(2)), key=len)
    assert applied[0] == []
    assert len(applied[1]) == len(migrations())


def test_a_migration_changed_afterwards_is_refused(conninfo: str):
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("update schema_migration set sha256 = 'other' where number = 1")
        with pytest.raises(MigrationError, match="0001_core was changed"):
            migrate(connection)


def test_a_database_newer_than_the_release_is_refused(conninfo: str):
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("insert into schema_migration values (9999, 'future', '')")
        with pytest.raises(MigrationError, match="9999"):
            migrate(connection)


def test_a_failing_migration_leaves_nothing_behind(conninfo: str, monkeypatch: pytest.MonkeyPatch):
    broken = module.Migration(number=len(migrations()) + 1, name="broken", sql=b"create table half (n int); select 1/0")
    monkeypatch.setattr(module, "migrations", lambda: [*migrations(), broken])
    with psycopg.connect(conninfo, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.DivisionByZero):
            migrate(connection)
        assert connection.execute("select to_regclass('half')").fetchone() == (None,)


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        ("run_state_check", RunState),
        ("run_lane_check", Lane),
        ("run_origin_check", RunOrigin),
        ("job_state_check", JobState),
        ("target_kind_check", TargetKind),
    ],
)
def test_the_words_of_the_code_are_the_words_of_the_schema(conninfo: str, constraint: str, words: type):
    with psycopg.connect(conninfo) as connection:
        (definition,) = connection.execute(
            "select pg_get_constraintdef(oid) from pg_constraint where conname = %s and conparentid = 0", (constraint,)
        ).fetchone() or ("",)
    assert {word.value for word in words} == set(definition.split("'")[1::2])  # type: ignore[attr-defined]


@pytest.mark.parametrize("role", ROLES)
def test_no_role_may_do_more_than_its_functions_do(conninfo: str, role: str):
    """The whole table of grants, role by role."""
    with psycopg.connect(conninfo) as connection:
        rows = connection.execute(
            "select table_name, string_agg(lower(privilege_type), ' ' order by privilege_type) "
            "from information_schema.role_table_grants where grantee = %s group by table_name",
            (role,),
        ).fetchall()
    assert dict(rows) == GRANTS[role]


GRANTS = {
    "hourbell_api": {
        "searched_job": "select",
        "stored_job": "select",
        "tenant": "insert select",
        "tenant_usage": "insert select update",
        "tenant_minute": "delete insert select update",
        "tenant_request": "insert select update",
        "job_change": "delete select",
        "api_key": "insert select update",
        "idempotent_request": "insert select update",
        "audit": "insert select",
        "target": "insert select update",
        "target_test": "insert select",
        "job": "insert select update",
        "due": "delete insert select update",
        "run": "insert select update",
        "missed": "insert select",
        "attempt": "insert select update",
        "event_outbox": "insert",
        "cold_bucket": "insert select",
        "cold_content": "select",
        "cold_intake": "delete insert select",
        "cold_name": "delete insert select",
        "cold_segment": "select",
        "cold_tombstone": "insert select",
    },
    "hourbell_loader": {
        "job": "insert select",
        "due": "insert",
        "cold_bucket": "delete insert select update",
        "cold_content": "delete insert select update",
        "cold_intake": "delete select",
        "cold_lease": "delete insert select update",
        "cold_name": "delete select",
        "cold_segment": "delete insert select update",
        "cold_tombstone": "delete select",
    },
    "hourbell_authorizer": {
        "api_key": "select",
    },
    "hourbell_scanner": {
        "target": "select",
        "tenant": "select",
        "tenant_usage": "insert select update",
        "tenant_minute": "delete insert select update",
        "job_change": "delete select",
        "job": "select update",
        "due": "delete select update",
        "run": "insert select update",
        "attempt": "insert select update",
        "shard_lease": "insert select update",
        "event_outbox": "delete insert select update",
        "missed": "insert select",
        "zone_data": "insert select update",
    },
    "hourbell_worker": {
        "target": "select",
        "target_test": "select update",
        "job": "select update",
        "due": "delete insert select update",
        "run": "select update",
        "attempt": "insert select update",
        "event_outbox": "insert",
    },
}
