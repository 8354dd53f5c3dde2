"""The connection after a failover: dropped, opened anew, the whole transaction repeated."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import psycopg
import pytest
from hourbell.store.connection import ATTEMPTS, Database


@pytest.fixture
def database(conninfo: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr("hourbell.store.connection._pause", lambda attempt: 0)
    opened = Database(conninfo)
    yield opened
    opened.close()


def backend(connection: psycopg.Connection[tuple[object, ...]]) -> object:
    (pid,) = connection.execute("select pg_backend_pid()").fetchone() or (None,)
    return pid


def test_one_connection_serves_all_transactions(database: Database):
    assert database.run(backend) == database.run(backend)


def test_an_admin_shutdown_is_survived(database: Database, conninfo: str):
    first = database.run(backend)
    with psycopg.connect(conninfo, autocommit=True) as admin:
        admin.execute("select pg_terminate_backend(%s)", (first,))
    assert database.run(backend) != first


def test_a_connection_that_points_at_a_reader_is_replaced(database: Database):
    """25006: after a failover the old writer answers, and every write fails."""
    database.run(lambda c: c.execute("create table t (n int)"))
    tries: list[object] = []

    def write(connection: psycopg.Connection[tuple[object, ...]]) -> None:
        tries.append(backend(connection))
        if len(tries) == 1:
            connection.execute("set transaction read only")
        connection.execute("insert into t values (1)")

    database.run(write)

    assert len(set(tries)) == 2
    assert database.run(lambda c: c.execute("select count(*) from t").fetchone()) == (1,)


def test_a_serialization_failure_repeats_on_the_same_connection(database: Database):
    tries: list[object] = []

    def conflict_once(connection: psycopg.Connection[tuple[object, ...]]) -> None:
        tries.append(backend(connection))
        if len(tries) == 1:
            raise psycopg.errors.SerializationFailure

    database.run(conflict_once)
    assert len(tries) == 2
    assert tries[0] == tries[1]


def test_giving_up_has_an_end_and_names_the_reason(database: Database):
    tries = []

    def always(connection: object) -> None:
        tries.append(1)
        raise psycopg.errors.DeadlockDetected

    with pytest.raises(psycopg.errors.DeadlockDetected):
        database.run(always)
    assert len(tries) == ATTEMPTS


def test_an_error_of_the_statement_itself_is_not_repeated(database: Database):
    tries = []

    def wrong(connection: psycopg.Connection[tuple[object, ...]]) -> None:
        tries.append(1)
        connection.execute("select no_such_column")

    with pytest.raises(psycopg.errors.UndefinedColumn):
        database.run(wrong)
    assert len(tries) == 1


def test_the_event_loops_connection_recovers_as_well(database: Database, conninfo: str):
    async def scenario() -> tuple[object, object]:
        async def pid(connection: psycopg.AsyncConnection[tuple[object, ...]]) -> object:
            cursor = await connection.execute("select pg_backend_pid()")
            return (await cursor.fetchone() or (None,))[0]

        first = await database.run_async(pid)
        with psycopg.connect(conninfo, autocommit=True) as admin:
            admin.execute("select pg_terminate_backend(%s)", (first,))
        second = await database.run_async(pid)
        await database.close_async()
        return first, second

    first, second = asyncio.run(scenario())
    assert first != second


def test_a_password_is_asked_for_with_each_new_connection(conninfo: str):
    asked = []

    def password() -> str:
        asked.append(1)
        return f"token {len(asked)}"

    database = Database(conninfo, password)
    database.run(backend)
    database.close()
    database.run(backend)
    database.close()
    assert len(asked) == 2
