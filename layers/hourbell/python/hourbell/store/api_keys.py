"""API keys, found by the SHA-256 of their secret: the secret itself is stored nowhere."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from hourbell.store.connection import Connection
from hourbell.store.sql import query


class StoredKey(NamedTuple):
    """A key that is neither revoked nor expired."""

    key_id: UUID
    tenant_id: UUID
    scopes: list[str]


def find_api_key(connection: Connection, secret_sha256: bytes, *, now: datetime) -> StoredKey | None:
    """The valid key behind the hash."""
    row = connection.execute(query("find_api_key"), {"secret_sha256": secret_sha256, "now": now}).fetchone()
    return None if row is None else StoredKey(*row)
