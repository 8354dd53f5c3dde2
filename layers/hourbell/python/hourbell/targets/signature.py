"""Signatures of outgoing calls, after Standard Webhooks (https://www.standardwebhooks.com, symmetric, ``v1``)."""

from __future__ import annotations

import base64
import hashlib
import hmac
from uuid import UUID

SECRET_PREFIX = "whsec_"  # noqa: S105 - the prefix, not a secret


def signing_key(stage_key: bytes, target_id: UUID) -> bytes:
    """The key of one target, derived from the stage's key: nothing secret is stored per target."""
    return hmac.digest(stage_key, b"hourbell target " + target_id.bytes, hashlib.sha256)


def format_secret(key: bytes) -> str:
    """The key as target owners get it: ``whsec_`` + base64."""
    return SECRET_PREFIX + base64.b64encode(key).decode()


def parse_secret(text: str) -> bytes:
    """The key behind a ``whsec_…`` secret; any other text is taken as it stands."""
    if text.startswith(SECRET_PREFIX):
        return base64.b64decode(text.removeprefix(SECRET_PREFIX))
    return text.encode()


def sign(key: bytes, *, message_id: str, timestamp: int, body: bytes) -> str:
    """The ``webhook-signature`` header of one call. ``timestamp``: seconds since 1970."""
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
