"""The first tenant and its key, made at deploy: later ones take a key, or a way to the database, which nobody has yet.

A secret of the stage holds the random part of the key. Whoever may read that secret puts ``KEY_PREFIX`` before it and
has a key of the tenant ``default`` with all scopes, the operator's too. It is read while there is no key at all, and
never again: what becomes of it afterwards changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from hourbell.domain.errors import HourbellError
from hourbell.domain.ids import new_id
from hourbell.services.tenants import KEY_PREFIX, OPERATOR, SCOPES, key_digest
from hourbell.store import tenants
from hourbell.store.connection import Connection

FIRST_TENANT = "default"
FIRST_KEY = "first key"

# As an Authorization header takes it, and long enough that nobody guesses it: the stored hash has no salt.
_RANDOM_PART = re.compile(r"[A-Za-z0-9_-]{32,192}")


class FirstKeyError(HourbellError):
    """The secret of the first key must be 32 to 192 letters, digits, ``_`` or ``-``."""


def ensure_first_key(connection: Connection, read_secret: Callable[[], str], *, now: datetime) -> bool:
    """Make the first key unless there is one, or was one; whether it was made. Two deploys at once make one.

    ``connection`` is the owner's, outside a transaction. The secret is read before the lock is taken, not under it.

    Raises:
        FirstKeyError: the secret is nothing to make a key of.
    """
    if tenants.has_api_keys(connection):
        return False
    digest = key_digest(first_key(read_secret()))
    with connection.transaction():
        tenants.lock_api_keys(connection)
        if tenants.has_api_keys(connection):
            return False
        tenants.insert_api_key(
            connection,
            key_id=new_id(now),
            tenant_id=tenants.ensure_tenant(connection, new_id(now), FIRST_TENANT, now=now),
            name=FIRST_KEY,
            secret_sha256=digest,
            scopes=(*SCOPES, OPERATOR),
            now=now,
        )
    return True


def first_key(random_part: str) -> str:
    """The key whose random part the secret holds.

    Raises:
        FirstKeyError: that is no part of a key.
    """
    if _RANDOM_PART.fullmatch(random_part) is None:
        raise FirstKeyError(str(FirstKeyError.__doc__))
    return KEY_PREFIX + random_part
