"""API keys, found by the SHA-256 of their secret: the secret itself is stored nowhere."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple, cast
from uuid import UUID

from hourbell.store.connection import Connection
from hourbell.store.sql import query

# The last use of a key is known to the minute: written at most this often.
TOUCH_EVERY = timedelta(minutes=1)


class ValidKey(NamedTuple):
    """A key that is neither revoked nor expired, and how often its tenant may call."""

    key_id: UUID
    tenant_id: UUID
    scopes: list[str]
    last_used_at: datetime | None
    max_requests_per_second: int | None


class StoredKey(NamedTuple):
    """A key. ``previous_expires_at``: until when the secret before its last rotation opens."""

    key_id: UUID
    name: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    previous_expires_at: datetime | None


def use_api_key(connection: Connection, secret_sha256: bytes, *, now: datetime) -> ValidKey | None:
    """The valid key behind the hash; that it was used is noted."""
    row = connection.execute(query("find_api_key"), {"secret_sha256": secret_sha256, "now": now}).fetchone()
    if row is None:
        return None
    key = ValidKey(*row)
    if key.last_used_at is None or key.last_used_at <= now - TOUCH_EVERY:
        values = {"key_id": key.key_id, "now": now, "unless_since": now - TOUCH_EVERY}
        connection.execute(query("touch_api_key"), values)
    return key


def fetch_api_key(connection: Connection, tenant_id: UUID, key_id: UUID) -> StoredKey | None:
    """The tenant's key."""
    row = connection.execute(query("fetch_api_key"), {"tenant_id": tenant_id, "key_id": key_id}).fetchone()
    return None if row is None else StoredKey(*row)


def lock_api_key(connection: Connection, tenant_id: UUID, key_id: UUID) -> StoredKey | None:
    """As ``fetch_api_key``, locked until the transaction ends."""
    row = connection.execute(query("lock_api_key"), {"tenant_id": tenant_id, "key_id": key_id}).fetchone()
    return None if row is None else StoredKey(*row)


def fetch_secret_mark(connection: Connection, tenant_id: UUID, key_id: UUID) -> str | None:
    """How the hash of the key's present secret begins, in hexadecimal."""
    row = connection.execute(query("fetch_secret_mark"), {"tenant_id": tenant_id, "key_id": key_id}).fetchone()
    return None if row is None else cast("str", row[0])


def list_api_keys(connection: Connection, tenant_id: UUID, *, before_id: UUID | None, limit: int) -> list[StoredKey]:
    """Up to ``limit`` keys created before ``before_id``, newest first."""
    values = {"tenant_id": tenant_id, "before_id": before_id, "limit": limit}
    return [StoredKey(*row) for row in connection.execute(query("list_api_keys"), values).fetchall()]


def rotate_api_key(
    connection: Connection, tenant_id: UUID, key_id: UUID, *, secret_sha256: bytes, previous_expires_at: datetime
) -> None:
    """Give a locked key a new secret."""
    values = {"secret_sha256": secret_sha256, "previous_expires_at": previous_expires_at}
    connection.execute(query("rotate_api_key"), {**values, "tenant_id": tenant_id, "key_id": key_id})


def revoke_api_key(connection: Connection, tenant_id: UUID, key_id: UUID, *, now: datetime) -> None:
    """Close a locked key."""
    connection.execute(query("revoke_api_key"), {"tenant_id": tenant_id, "key_id": key_id, "now": now})
