"""What an operator does with tenants: make them with a first key, list them, set their quotas.

Only keys with the scope ``operator`` come here. An operator's key belongs to a tenant as any other, and sees of the
other tenants their names, quotas and numbers of jobs; none of the jobs. What it does stands in the tenant's own audit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from hourbell.domain.ids import new_id
from hourbell.domain.instants import floor_ms
from hourbell.domain.quotas import Quotas
from hourbell.services.audit import Changes, record
from hourbell.services.authenticate import Principal
from hourbell.services.errors import NotFoundError, check_version
from hourbell.services.keys import require_present_secret
from hourbell.services.tenants import SCOPES, NewApiKey, key_digest, new_secret
from hourbell.store import tenants
from hourbell.store.connection import Connection, Database
from hourbell.store.tenants import StoredTenant

FIRST_KEY = "first key"

# Answers the new quotas for the tenant as it is; must have no effect of its own.
ReviseQuotas = Callable[[StoredTenant], Quotas]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTenant:
    """A tenant just made, and its first key with every scope of a tenant; the secret is shown this once."""

    tenant: StoredTenant
    key: NewApiKey


def open_tenant(database: Database, caller: Principal, name: str, quotas: Quotas, *, now: datetime) -> NewTenant:
    """Make a tenant.

    Raises:
        ConflictError: the name is taken. OldSecretError: what it makes is a key, too.
    """
    tenant_id = new_id(now)
    key = NewApiKey(key_id=new_id(now), secret=new_secret())

    def make(connection: Connection) -> StoredTenant:
        require_present_secret(connection, caller)
        tenants.act_as_operator(connection)
        tenants.insert_tenant(connection, tenant_id, name, quotas, now=floor_ms(now))
        tenants.insert_api_key(
            connection,
            key_id=key.key_id,
            tenant_id=tenant_id,
            name=FIRST_KEY,
            secret_sha256=key_digest(key.secret),
            scopes=SCOPES,
            now=now,
        )
        record(connection, tenant_id, "tenant", tenant_id, "created", now=now)
        return _found(tenants.fetch_tenant(connection, tenant_id))

    return NewTenant(tenant=database.run(make), key=key)


def list_tenants(
    database: Database, *, name: str | None = None, before_id: UUID | None = None, limit: int
) -> list[StoredTenant]:
    """A page of tenants, newest first."""

    def read(connection: Connection) -> list[StoredTenant]:
        tenants.act_as_operator(connection)
        return tenants.list_tenants(connection, name=name, before_id=before_id, limit=limit)

    return database.run(read)


def get_tenant(database: Database, tenant_id: UUID) -> StoredTenant:
    """One tenant.

    Raises:
        NotFoundError: there is no such tenant.
    """

    def read(connection: Connection) -> StoredTenant:
        tenants.act_as_operator(connection)
        return _found(tenants.fetch_tenant(connection, tenant_id))

    return database.run(read)


def set_quotas(
    database: Database,
    tenant_id: UUID,
    revise: ReviseQuotas,
    *,
    expected: Collection[int] | None = None,
    now: datetime,
) -> StoredTenant:
    """Write what ``revise`` makes of the present quotas. A tenant that has more than it may keeps what it has.

    Raises:
        NotFoundError, VersionError, FieldErrors.
    """

    def write(connection: Connection) -> StoredTenant:
        tenants.act_as_operator(connection)
        stored = _found(tenants.lock_tenant(connection, tenant_id))
        check_version(stored.version, expected)
        quotas = revise(stored)
        tenants.update_quotas(connection, tenant_id, quotas, now=floor_ms(now))
        record(connection, tenant_id, "tenant", tenant_id, "quota_changed", changes=_changes(stored, quotas), now=now)
        return _found(tenants.fetch_tenant(connection, tenant_id))

    return database.run(write)


def _changes(stored: StoredTenant, quotas: Quotas) -> Changes:
    pairs = {name: (getattr(stored, name), limit) for name, limit in asdict(quotas).items()}
    return {name: (old, new) for name, (old, new) in pairs.items() if old != new}


def _found(stored: StoredTenant | None) -> StoredTenant:
    if stored is None:
        raise NotFoundError("tenant")
    return stored
