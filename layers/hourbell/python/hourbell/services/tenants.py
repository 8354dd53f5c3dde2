"""Tenants and their API keys, made by an administrator (the CLI, ``hourbell up``)."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from hourbell.domain.ids import new_id
from hourbell.store import tenants
from hourbell.store.connection import Database

KEY_PREFIX = "hb_live_"
ADMIN = "admin"
SCOPES = ("jobs:read", "jobs:write", "runs:write", "targets:write", "keys:write", ADMIN)
# Makes tenants and sets their quotas. No scope of a tenant's own, and not part of admin: only a key that was made with
# it has it.
OPERATOR = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewApiKey:
    """A key just made. ``secret`` is shown this once: only its SHA-256 is stored."""

    key_id: UUID
    secret: str


def new_secret() -> str:
    """A secret that nobody guesses."""
    return KEY_PREFIX + secrets.token_urlsafe(32)


def key_digest(secret: str) -> bytes:
    """What is stored of a key. Keys are random and long, so a plain hash is enough (no dictionary to try)."""
    return hashlib.sha256(secret.encode()).digest()


def secret_mark(digest: bytes) -> str:
    """Tells a secret from the others of its key, and opens nothing (store/queries/fetch_secret_mark.sql)."""
    return digest[:8].hex()


def create_tenant(database: Database, name: str, *, now: datetime) -> UUID:
    """Make the tenant of this name, or find it."""
    tenant_id = new_id(now)
    return database.run(lambda connection: tenants.ensure_tenant(connection, tenant_id, name, now=now))


def create_api_key(
    database: Database, tenant_id: UUID, *, name: str, now: datetime, scopes: Sequence[str] = SCOPES
) -> NewApiKey:
    """Make a new key of a tenant, with all scopes unless told otherwise."""
    key = NewApiKey(key_id=new_id(now), secret=new_secret())
    database.run(
        lambda connection: tenants.insert_api_key(
            connection,
            key_id=key.key_id,
            tenant_id=tenant_id,
            name=name,
            secret_sha256=key_digest(key.secret),
            scopes=list(scopes),
            now=now,
        )
    )
    return key
