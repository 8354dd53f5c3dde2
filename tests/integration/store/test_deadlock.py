"""Two transactions that lock the same rows in opposite order: the database ends one, and it is made again."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError
from typing import Any

import psycopg
from hourbell.store.connection import Connection, Database


def test_a_deadlock_repeats_the_transaction_and_both_end_well(conninfo: str):
    with psycopg.connect(conninfo, autocommit=True) as admin:
        admin.execute("create table thing (id int primary key, writes int not null default 0)")
        admin.execute("insert into thing values (1), (2)")
    both_hold_one = Barrier(2)
    attempts: list[int] = []

    def write(first: int, second: int) -> None:
        def work(connection: Connection) -> Any:
            attempts.append(first)
            connection.execute("update thing set writes = writes + 1 where id = %s", (first,))
            with contextlib.suppress(BrokenBarrierError):
                both_hold_one.wait(timeout=20)
            both_hold_one.abort()  # the repetition meets nobody
            connection.execute("update thing set writes = writes + 1 where id = %s", (second,))

        own = Database(conninfo)
        own.run(work)
        own.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, (1, 2), (2, 1)))

    with psycopg.connect(conninfo, autocommit=True) as admin:
        assert admin.execute("select writes from thing order by id").fetchall() == [(2,), (2,)]
    assert len(attempts) == 3
