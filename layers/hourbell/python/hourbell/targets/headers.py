"""Which headers an HTTP target may send along: none that could change what the others mean."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hourbell.domain.errors import FieldError

VALUE_MAX_LENGTH = 4_096
# RFC 9110: a field name is a token; a value is visible ASCII with blanks and tabs inside.
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
_HEADER_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?")
# Set by Hourbell or by the connection: a target's own would be ignored, or would break the request apart.
_RESERVED = frozenset(
    {
        "connection", "content-length", "content-type", "expect", "host", "http2-settings", "idempotency-key",
        "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "user-agent",
    }
)  # fmt: skip
_RESERVED_PREFIXES = ("hourbell-", "webhook-", "proxy-")


def header_errors(headers: Mapping[str, str]) -> list[FieldError]:
    """What is wrong with a target's headers, by ``headers.<name>``."""
    errors = []
    seen: set[str] = set()
    for name, value in headers.items():
        flaw = _header_flaw(name, value, seen)
        if flaw:
            errors.append(FieldError(f"headers.{name}", flaw))
        seen.add(name.lower())
    return errors


def _header_flaw(name: str, value: str, seen: set[str]) -> str | None:
    if not _TOKEN.fullmatch(name):
        return "is not a header name"
    lower = name.lower()
    if lower in _RESERVED or lower.startswith(_RESERVED_PREFIXES):
        return "is a reserved header"
    if lower in seen:
        return "is given twice"
    if len(value) > VALUE_MAX_LENGTH or not _HEADER_VALUE.fullmatch(value):
        return f"must be printable ASCII, at most {VALUE_MAX_LENGTH} characters, without blanks around it"
    return None
