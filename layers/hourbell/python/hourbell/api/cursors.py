"""Page cursors: opaque, signed, and good for one tenant's one list with the same filters only.

A cursor is base64url(MAC ‖ body). The body is JSON: [issued at (s), position…]. The MAC, HMAC-SHA256 cut to 16 bytes,
covers the body together with tenant, list and filters, which the reader supplies anew: a cursor from another list,
tenant or filter does not verify, and an edited one neither.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from hourbell.api.strict_json import bad

LIFETIME = timedelta(days=1)
CLOCK_SKEW = timedelta(minutes=1)  # between the machines that answer two pages
MAX_LENGTH = 512
_MAC_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a cursor belongs to."""

    name: str
    tenant_id: UUID
    filters: Mapping[str, object]


class Cursors:
    """Issues and reads cursors.

    ``secret`` gives the stage's signing secret; it is asked only when a page has a next one.
    """

    def __init__(self, secret: Callable[[], bytes]) -> None:
        self._secret = secret
        self._key: bytes | None = None

    def issue(self, listing: Listing, position: Sequence[int | str], *, now: datetime) -> str:
        """The cursor of the page that follows ``position``."""
        body = json.dumps([int(now.timestamp()), *position], separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(self._mac(listing, body) + body).decode().rstrip("=")

    def read(self, listing: Listing, text: str, *, now: datetime) -> list[int | str]:
        """The position in a cursor.

        Raises:
            FieldErrors: tampered with, of another list, or too old.
        """
        raw = _decode(text)
        mac, body = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(listing, body)):
            raise _refused()
        fields: list[int | str] = json.loads(body)
        age = now.timestamp() - int(fields[0])
        if not -CLOCK_SKEW.total_seconds() <= age <= LIFETIME.total_seconds():
            raise _refused()
        return fields[1:]

    def _mac(self, listing: Listing, body: bytes) -> bytes:
        if self._key is None:
            self._key = hmac.digest(self._secret(), b"hourbell cursor", hashlib.sha256)
        bound = json.dumps([listing.name, listing.tenant_id.hex, sorted(listing.filters.items())], default=str)
        return hmac.digest(self._key, bound.encode() + b"\n" + body, hashlib.sha256)[:_MAC_BYTES]


def _decode(text: str) -> bytes:
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _refused() from None
    if len(text) > MAX_LENGTH or base64.urlsafe_b64encode(raw).decode().rstrip("=") != text:
        raise _refused()
    return raw


def _refused() -> Exception:
    return bad("cursor", "is not a cursor of this list; begin again without one")
