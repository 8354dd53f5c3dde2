"""A tenant's API keys, as the tenant manages them: create, list, rotate, revoke.

Whoever manages keys gains nothing by it: a key is made, rotated or revoked only by one that may do whatever it may,
and made or rotated only by one that opens for as long. The old secret of a rotated key opens for its grace, but manages
no keys: whoever found it would take the key over. A key that was revoked may still be let in for a minute, since
the authorizer's answers are kept that long; here it is looked at again, under its lock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from hourbell.domain.errors import FieldError, FieldErrors
from hourbell.domain.ids import new_id
from hourbell.domain.instants import format_instant
from hourbell.services.audit import record
from hourbell.services.authenticate import Principal
from hourbell.services.errors import NotFoundError, OldSecretError, StateError, VersionError
from hourbell.services.tenants import key_digest, new_secret
from hourbell.store import api_keys, tenants
from hourbell.store.api_keys import StoredKey
from hourbell.store.connection import Connection, Database


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownKey:
    """A key with its secret, which is shown this once."""

    stored: StoredKey
    secret: str


def create_key(
    database: Database,
    caller: Principal,
    *,
    name: str,
    scopes: Sequence[str],
    expires_at: datetime | None,
    now: datetime,
) -> ShownKey:
    """Make a key with some of the caller's scopes.

    Raises:
        FieldErrors: a scope that the caller lacks; an end that has passed, or comes after the caller's own.
        StateError: the caller was revoked, or has expired.
    """
    if expires_at is not None and expires_at <= now:
        raise FieldErrors([FieldError("expires_at", "lies in the past")])
    lacking = _beyond(caller, scopes)
    if lacking:
        raise FieldErrors([FieldError("scopes", f"the key that asks has no {', '.join(lacking)} to give")])
    key_id, secret = new_id(now), new_secret()

    def create(connection: Connection) -> StoredKey:
        end = _end(_standing(connection, caller, now))
        if end is not None and (expires_at is None or expires_at > end):
            raise FieldErrors(
                [FieldError("expires_at", f"lies after {format_instant(end)}, when the key that asks ends")]
            )
        tenants.insert_api_key(
            connection,
            key_id=key_id,
            tenant_id=caller.tenant_id,
            name=name,
            secret_sha256=key_digest(secret),
            scopes=sorted(set(scopes)),
            expires_at=expires_at,
            now=now,
        )
        changes = {"name": (None, name), "scopes": (None, " ".join(sorted(set(scopes))))}
        record(connection, caller.tenant_id, "key", key_id, "created", changes=changes, now=now)
        return _found(api_keys.fetch_api_key(connection, caller.tenant_id, key_id))

    return ShownKey(stored=database.run(create), secret=secret)


def get_key(database: Database, tenant_id: UUID, key_id: UUID) -> StoredKey:
    """One key.

    Raises:
        NotFoundError: the tenant has no such key.
    """
    return _found(database.run(lambda connection: api_keys.fetch_api_key(connection, tenant_id, key_id)))


def list_keys(database: Database, tenant_id: UUID, *, before_id: UUID | None = None, limit: int) -> list[StoredKey]:
    """A page of keys, newest first, revoked ones too."""
    return database.run(
        lambda connection: api_keys.list_api_keys(connection, tenant_id, before_id=before_id, limit=limit)
    )


def key_tag(key: StoredKey) -> str:
    """The entity tag of a key: another with each change of it. That it is used changes nothing."""
    changes_at = (key.expires_at, key.revoked_at, key.previous_expires_at)
    instants = [None if instant is None else format_instant(instant) for instant in changes_at]
    known = repr((str(key.key_id), key.name, key.scopes, instants))
    return f'"{hashlib.sha256(known.encode()).hexdigest()[:20]}"'


def rotate_key(
    database: Database,
    caller: Principal,
    key_id: UUID,
    *,
    grace: timedelta,
    force: bool = False,
    expected: Collection[str] | None = None,
    now: datetime,
) -> ShownKey:
    """Give a key a new secret; the one it had opens for ``grace`` longer.

    An older one that still opens, in the grace of the rotation before, would be cut off from whoever uses it: only
    with ``force``.

    Raises:
        NotFoundError; VersionError: its tag is not expected.
        StateError: it was revoked, has expired, may do what the caller may not, opens for longer, or has
        an old secret in its grace; or the caller was revoked. OldSecretError.
    """
    secret = new_secret()

    def rotate(connection: Connection) -> StoredKey:
        asking = _standing(connection, caller, now, beside=key_id)
        stored = _in_reach(connection, caller, key_id)
        _check_tag(stored, expected)
        if _has_ended(stored, now):
            raise StateError("the key was revoked, or has expired; create a new one")
        end = _end(asking)
        if end is not None and (stored.expires_at is None or stored.expires_at > end):
            raise StateError("the key opens for longer than the one that asks")
        if not force and stored.previous_expires_at is not None and stored.previous_expires_at > now:
            raise StateError(
                "the key was rotated before, and the secret of that time opens until "
                f"{format_instant(stored.previous_expires_at)}; rotate it after that, or end that secret now with force"
            )
        api_keys.rotate_api_key(
            connection,
            caller.tenant_id,
            key_id,
            secret_sha256=key_digest(secret),
            previous_expires_at=now + grace,
        )
        changes = {"previous_secret_expires_at": (None, format_instant(now + grace))}
        record(connection, caller.tenant_id, "key", key_id, "rotated", changes=changes, now=now)
        return _found(api_keys.fetch_api_key(connection, caller.tenant_id, key_id))

    return ShownKey(stored=database.run(rotate), secret=secret)


def revoke_key(
    database: Database, caller: Principal, key_id: UUID, *, expected: Collection[str] | None = None, now: datetime
) -> None:
    """Close a key for good, both its secrets. Idempotent.

    Raises:
        NotFoundError; VersionError: its tag is not expected.
        StateError: it is the caller's own, or may do what the caller may not; or the caller was revoked.
    """

    def revoke(connection: Connection) -> None:
        _standing(connection, caller, now, beside=key_id)
        stored = _in_reach(connection, caller, key_id)
        _check_tag(stored, expected)
        if key_id == caller.key_id:
            raise StateError("a key cannot revoke itself: who would let its tenant in again?")
        if stored.revoked_at is None:
            api_keys.revoke_api_key(connection, caller.tenant_id, key_id, now=now)
            record(connection, caller.tenant_id, "key", key_id, "revoked", now=now)

    database.run(revoke)


def require_present_secret(connection: Connection, caller: Principal) -> None:
    """Pass unless the caller shows the old secret of its key; asked of the key itself, since answers about it are kept.

    Raises:
        OldSecretError.
    """
    mark = api_keys.fetch_secret_mark(connection, caller.tenant_id, caller.key_id)
    if mark is not None and mark != caller.secret_mark:
        raise OldSecretError


def _standing(
    connection: Connection, caller: Principal, now: datetime, *, beside: UUID | None = None
) -> StoredKey | None:
    """The caller's own key, locked as it is now, with the key ``beside`` it in the order of their ids."""
    ids = {caller.key_id} if beside is None else {caller.key_id, beside}
    locked = {key_id: api_keys.lock_api_key(connection, caller.tenant_id, key_id) for key_id in sorted(ids)}
    asking = locked[caller.key_id]
    if asking is not None and caller.key_id != beside and _has_ended(asking, now):
        raise StateError("the key that asks was revoked, or has expired")
    require_present_secret(connection, caller)
    return asking


def _check_tag(key: StoredKey, expected: Collection[str] | None) -> None:
    if expected is not None and key_tag(key) not in expected:
        raise VersionError("has changed")


def _has_ended(key: StoredKey, now: datetime) -> bool:
    return key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= now)


def _end(key: StoredKey | None) -> datetime | None:
    return None if key is None else key.expires_at


def _in_reach(connection: Connection, caller: Principal, key_id: UUID) -> StoredKey:
    stored = _found(api_keys.lock_api_key(connection, caller.tenant_id, key_id))
    beyond = _beyond(caller, stored.scopes)
    if beyond:
        raise StateError(f"the key may do what the one that asks may not: {', '.join(beyond)}")
    return stored


def _beyond(caller: Principal, scopes: Collection[str]) -> list[str]:
    return sorted(scope for scope in set(scopes) if not caller.may(scope))


def _found(stored: StoredKey | None) -> StoredKey:
    if stored is None:
        raise NotFoundError("key")
    return stored
