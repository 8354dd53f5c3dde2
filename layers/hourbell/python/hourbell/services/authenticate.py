"""Who is calling: the tenant and scopes behind an API key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from hourbell.services.tenants import ADMIN, SCOPES, key_digest, secret_mark
from hourbell.store import api_keys
from hourbell.store.connection import Database

# Longer than any key is; what is longer still is not worth a hash.
_BEARER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +(hb_[A-Za-z0-9_-]{1,200})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A caller. Everything it may see or change belongs to its tenant."""

    tenant_id: UUID
    key_id: UUID
    scopes: frozenset[str]
    # Tells the secret that was shown from the others the key had or will have; empty: not known.
    secret_mark: str = ""
    max_requests_per_second: int | None = None

    def may(self, scope: str) -> bool:
        """Whether its key has the scope; ``admin`` has every scope of a tenant."""
        return scope in self.scopes or (ADMIN in self.scopes and scope in SCOPES)

    def context(self) -> dict[str, str]:
        """As the authorizer hands it to the API: texts only."""
        return {
            "tenant_id": str(self.tenant_id),
            "key_id": str(self.key_id),
            "scopes": " ".join(sorted(self.scopes)),
            "secret_mark": self.secret_mark,
            "max_requests_per_second": str(self.max_requests_per_second or ""),
        }

    @classmethod
    def from_context(cls, context: Mapping[str, str]) -> Principal | None:
        """The caller again; None for the empty context of a request without a valid key."""
        if not context.get("tenant_id"):
            return None
        return cls(
            tenant_id=UUID(context["tenant_id"]),
            key_id=UUID(context["key_id"]),
            scopes=frozenset(context["scopes"].split()),
            secret_mark=context.get("secret_mark") or "",
            max_requests_per_second=int(context.get("max_requests_per_second") or 0) or None,
        )


def authenticate(database: Database, authorization: str | None, *, now: datetime) -> Principal | None:
    """The caller behind an ``Authorization`` header, or None for anything but a valid key."""
    match = _BEARER.fullmatch(authorization or "")
    if match is None:
        return None
    digest = key_digest(match[1])
    key = database.run(lambda connection: api_keys.use_api_key(connection, digest, now=now))
    if key is None:
        return None
    return Principal(
        tenant_id=key.tenant_id,
        key_id=key.key_id,
        scopes=frozenset(key.scopes),
        secret_mark=secret_mark(digest),
        max_requests_per_second=key.max_requests_per_second,
    )
