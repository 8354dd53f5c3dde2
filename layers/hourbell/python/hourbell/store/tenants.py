"""Tenants and API keys, as the administrator writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import NamedTuple, cast
from uuid import UUID

from hourbell.domain.quotas import Quotas
from hourbell.store.connection import Connection
from hourbell.store.constraints import translated
from hourbell.store.sql import query


class StoredTenant(NamedTuple):
    """A tenant with its quotas. ``jobs``: how many are active or paused."""

    tenant_id: UUID
    name: str
    max_jobs: int | None
    max_runs_per_minute: int | None
    max_requests_per_second: int | None
    jobs: int
    version: int
    created_at: datetime
    updated_at: datetime


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


def act_as_operator(connection: Connection) -> None:
    """Have this transaction see all tenants; for API roles, which see their caller's otherwise."""
    connection.execute(query("act_as_operator"))


def insert_tenant(connection: Connection, tenant_id: UUID, name: str, quotas: Quotas, *, now: datetime) -> None:
    """Make a tenant.

    Raises:
        ConflictError: the name is taken.
    """
    with translated():
        connection.execute(query("insert_tenant"), {**asdict(quotas), "tenant_id": tenant_id, "name": name, "now": now})


def list_tenants(
    connection: Connection, *, name: str | None = None, before_id: UUID | None = None, limit: int
) -> list[StoredTenant]:
    """Up to ``limit`` tenants made before ``before_id``, newest first."""
    values = {"tenant_id": None, "name": name, "before_id": before_id, "limit": limit}
    return [StoredTenant(*row) for row in connection.execute(query("list_tenants"), values).fetchall()]


def fetch_tenant(connection: Connection, tenant_id: UUID) -> StoredTenant | None:
    """One tenant."""
    values = {"tenant_id": tenant_id, "name": None, "before_id": None, "limit": 1}
    row = connection.execute(query("list_tenants"), values).fetchone()
    return None if row is None else StoredTenant(*row)


def lock_tenant(connection: Connection, tenant_id: UUID) -> StoredTenant | None:
    """As ``fetch_tenant``, locked against other edits until the transaction ends."""
    if connection.execute(query("lock_tenant"), {"tenant_id": tenant_id}).fetchone() is None:
        return None
    return fetch_tenant(connection, tenant_id)


def update_quotas(connection: Connection, tenant_id: UUID, quotas: Quotas, *, now: datetime) -> None:
    """Write the quotas of a locked tenant."""
    connection.execute(query("update_quotas"), {**asdict(quotas), "tenant_id": tenant_id, "now": now})
