"""Tenants and API keys, as the administrator writes them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import cast
from uuid import UUID

from hourbell.store.connection import Connection
from hourbell.store.sql import query


def ensure_tenant(connection: Connection, tenant_id: UUID, name: str, *, now: datetime) -> UUID:
    """The tenant of this name, made with ``tenant_id`` when there is none."""
    (value,) = connection.execute(
        query("ensure_tenant"), {"tenant_id": tenant_id, "name": name, "now": now}
    ).fetchone() or (None,)
    return cast("UUID", value)


def has_api_keys(connection: Connection) -> bool:
    """Whether any key was ever made: revoked and expired ones count."""
    (found,) = connection.execute(query("has_api_keys")).fetchone() or (False,)
    return bool(found)


def lock_api_keys(connection: Connection) -> None:
    """Let nobody else store a key until this transaction ends."""
    connection.execute(query("lock_api_keys"))


def insert_api_key(
    connection: Connection,
    *,
    key_id: UUID,
    tenant_id: UUID,
    name: str,
    secret_sha256: bytes,
    scopes: Sequence[str],
    expires_at: datetime | None = None,
    now: datetime,
) -> None:
    """Store a key by its digest."""
    connection.execute(
        query("insert_api_key"),
        {
            "key_id": key_id,
            "tenant_id": tenant_id,
            "name": name,
            "secret_sha256": secret_sha256,
            "scopes": list(scopes),
            "expires_at": expires_at,
            "now": now,
        },
    )
