"""Requests with an ``Idempotency-Key``, and what they were answered: written with what they made, or not at all."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from hourbell.store.connection import Connection
from hourbell.store.sql import query

KEPT_FOR = timedelta(hours=24)


class AnsweredRequest(NamedTuple):
    """A request that was carried out. ``headers``: of the answer, by name."""

    request_sha256: bytes
    status: int
    headers: dict[str, str]
    body: str


def lock_request(connection: Connection, tenant_id: UUID, key: str) -> bool:
    """Whether the key is this transaction's until it ends; False: another request with it is under way."""
    (locked,) = connection.execute(query("lock_request"), {"tenant_id": tenant_id, "key": key}).fetchone() or (False,)
    return bool(locked)


def find_request(connection: Connection, tenant_id: UUID, key: str, *, now: datetime) -> AnsweredRequest | None:
    """What was carried out under this key within ``KEPT_FOR``."""
    values = {"tenant_id": tenant_id, "key": key, "since": now - KEPT_FOR}
    row = connection.execute(query("find_request"), values).fetchone()
    return None if row is None else AnsweredRequest(*row)


def keep_request(
    connection: Connection, tenant_id: UUID, key: str, answered: AnsweredRequest, *, now: datetime
) -> None:
    """Keep the answer under the locked key."""
    from psycopg.types.json import Jsonb

    values = {**answered._asdict(), "headers": Jsonb(answered.headers)}
    connection.execute(query("keep_request"), {**values, "tenant_id": tenant_id, "key": key, "now": now})


def delete_old_requests(connection: Connection, *, now: datetime) -> int:
    """Forget what nobody is answered from any more; answer how many."""
    return connection.execute(query("delete_old_requests"), {"before": now - KEPT_FOR}).rowcount
