"""Tests of targets: asked for by the API, made by a worker once, kept for as long as a request may be repeated."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from hourbell.store.connection import AsyncConnection, Connection
from hourbell.store.sql import query

# Longer than the answers under idempotency keys, which name them.
KEPT_FOR = timedelta(hours=48)


class StoredTest(NamedTuple):
    """A test; ``outcome`` and what follows are None until a worker has made it."""

    test_id: UUID
    state: str
    outcome: str | None
    status_code: int | None
    error: str | None
    duration_ms: int | None
    sent: dict[str, Any] | None

    @property
    def is_finished(self) -> bool:
        """Whether the call was made and its result recorded."""
        return self.state == "finished"


class StartedTest(NamedTuple):
    """A test that is the worker's to make, and its target as it is now."""

    test_id: UUID
    payload: str
    created_at: datetime
    target_id: UUID
    target_kind: str
    target_config: dict[str, Any]


class FinishedTest(NamedTuple):
    """What came of a test. ``sent``: JSON text."""

    outcome: str
    status_code: int | None
    error: str | None
    duration_ms: int
    sent: str


def count_tests(connection: Connection, tenant_id: UUID, *, since: datetime) -> tuple[int, datetime]:
    """How many the tenant asked for since then, and when the first; no other transaction adds one before this ends."""
    connection.execute(query("lock_target_tests"), {"tenant_id": tenant_id})
    row = connection.execute(query("count_target_tests"), {"tenant_id": tenant_id, "since": since}).fetchone()
    count, first_at = row or (0, None)
    return count, first_at or since


def insert_test(
    connection: Connection, tenant_id: UUID, target_id: UUID, test_id: UUID, *, payload: str, now: datetime
) -> None:
    """Write a test that waits."""
    connection.execute(
        query("insert_target_test"),
        {"tenant_id": tenant_id, "target_id": target_id, "test_id": test_id, "payload": payload, "now": now},
    )


def fetch_test(connection: Connection, tenant_id: UUID, test_id: UUID) -> StoredTest | None:
    """The tenant's test."""
    row = connection.execute(query("fetch_target_test"), {"tenant_id": tenant_id, "test_id": test_id}).fetchone()
    return None if row is None else StoredTest(*row)


async def start_test(
    connection: AsyncConnection, test_id: UUID, *, patience: timedelta, now: datetime | None = None
) -> StartedTest | None:
    """Take the test, if it waits and was asked for within ``patience``; whoever gets it is the only one."""
    cursor = await connection.execute(
        query("start_target_test"), {"test_id": test_id, "patience": patience, "now": now}
    )
    row = await cursor.fetchone()
    return None if row is None else StartedTest(*row)


async def finish_test(
    connection: AsyncConnection, test_id: UUID, finished: FinishedTest, *, now: datetime | None = None
) -> None:
    """Record what came of a test that was started."""
    await connection.execute(query("finish_target_test"), {**finished._asdict(), "test_id": test_id, "now": now})


def delete_old_tests(connection: Connection, *, now: datetime) -> int:
    """Forget what is past ``KEPT_FOR``; answer how many."""
    return connection.execute(query("delete_old_target_tests"), {"before": now - KEPT_FOR}).rowcount
