"""Errors as RFC 9457 problem details. One table says what each error of the lower rooms means to a caller."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg

from hourbell.api.strict_json import dump
from hourbell.cold.errors import ColdUnavailableError, RecordError, SegmentError
from hourbell.domain.errors import FieldError, FieldErrors, HourbellError
from hourbell.services.errors import (
    LeaseLostError,
    NotFoundError,
    OldSecretError,
    QuotaError,
    StateError,
    VersionError,
)
from hourbell.store.constraints import ConflictError

logger = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
MAX_FIELD_LENGTH = 200
MAX_DETAIL_LENGTH = 1_000


class AuthenticationError(HourbellError):
    """No valid API key."""


class ScopeError(HourbellError):
    """The key is valid and may not do this."""

    def __init__(self, scope: str) -> None:
        super().__init__(f"needs the scope {scope}")
        self.scope = scope


class KeyReusedError(HourbellError):
    """The ``Idempotency-Key`` belongs to another request."""


class RequestUnderWayError(HourbellError):
    """A request with the same ``Idempotency-Key`` is being carried out at this moment."""


class TooLargeError(HourbellError):
    """The body is larger than any request needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Problem details and the headers that go with them. ``type`` ends in ``slug``: what clients tell problems by."""

    status: int
    slug: str
    title: str
    detail: str
    errors: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> str:
        """The JSON document; ASCII, so that a quoted flaw cannot break the reply."""
        errors = [{"field": _ascii(name)[:MAX_FIELD_LENGTH], "detail": _ascii(text)} for name, text in self.errors]
        return dump(
            {
                "type": f"urn:hourbell:problem:{self.slug}",
                "title": self.title,
                "status": self.status,
                "detail": _ascii(self.detail)[:MAX_DETAIL_LENGTH],
                "errors": errors,
            }
        )


DATABASE_UNAVAILABLE = Problem(
    status=503,
    slug="unavailable",
    title="Unavailable",
    detail="the database does not answer; try again",
    headers={"Retry-After": "2"},
)
COLD_UNAVAILABLE = replace(DATABASE_UNAVAILABLE, detail="the cold tier does not answer; try again")
COLD_UNREADABLE = Problem(
    status=503,
    slug="cold-unreadable",
    title="Temporarily unreadable",
    detail="the record of this job cannot be read at the moment; the job is not lost, and its operators know",
    headers={"Retry-After": "60"},
)


def problem_of(error: Exception) -> Problem:
    """What an error means to the caller; anything unforeseen is logged, and tells nothing of itself."""
    for kind, meaning in _MEANINGS:
        if isinstance(error, kind):
            return meaning(error)
    return _unforeseen(error)


def not_found(kind: str) -> Problem:
    """The same to the letter for an id that does not exist, that is no id, and that belongs to another tenant."""
    return Problem(status=404, slug="not-found", title="Not found", detail=f"no such {kind}")


def _bad_input(error: FieldError | FieldErrors) -> Problem:
    found = tuple((flaw.field, flaw.detail) for flaw in error.errors)
    detail = "; ".join(f"{name}: {text}" for name, text in found[:3])
    return Problem(status=400, slug="bad-input", title="Bad input", detail=detail, errors=found)


def _conflict(error: ConflictError) -> Problem:
    found = ((error.field, error.detail),)
    return Problem(status=409, slug="conflict", title="Conflict", detail=str(error), errors=found)


def _state(error: StateError) -> Problem:
    return Problem(status=409, slug="state", title="Not possible in this state", detail=error.detail)


def _quota(error: QuotaError) -> Problem:
    found, seconds = ((error.quota, error.detail),), error.retry_after_seconds
    if seconds is None:
        return Problem(status=409, slug="quota", title="Quota used up", detail=str(error), errors=found)
    headers = {"Retry-After": str(seconds)}
    return Problem(
        status=429, slug="quota", title="Too many requests", detail=str(error), errors=found, headers=headers
    )


def _lease_lost(error: LeaseLostError) -> Problem:
    return Problem(status=409, slug="lease-lost", title="Lease lost", detail=str(error))


def _version(error: VersionError) -> Problem:
    detail = f"If-Match: the resource {error}"
    return Problem(status=412, slug="version", title="Precondition failed", detail=detail)


def _unauthorized(_error: AuthenticationError) -> Problem:
    return Problem(
        status=401,
        slug="unauthorized",
        title="Unauthorized",
        detail="a valid API key is needed: Authorization: Bearer hb_...",
        headers={"WWW-Authenticate": "Bearer"},
    )


def _forbidden(error: ScopeError) -> Problem:
    return Problem(status=403, slug="scope", title="Forbidden", detail=str(error))


def _old_secret(_error: OldSecretError) -> Problem:
    return Problem(
        status=403,
        slug="old-secret",
        title="Forbidden",
        detail="this secret was replaced when its key was rotated: until its grace ends it opens all else, "
        "but it manages no keys and makes no tenants; use the new secret",
    )


def _key_reused(error: KeyReusedError) -> Problem:
    found = (("Idempotency-Key", str(error)),)
    return Problem(
        status=422, slug="idempotency-key-reused", title="Idempotency-Key reused", detail=str(error), errors=found
    )


def _under_way(error: RequestUnderWayError) -> Problem:
    return Problem(
        status=409,
        slug="request-under-way",
        title="Request under way",
        detail=f"{error}; ask again for its answer",
        headers={"Retry-After": "1"},
    )


def _too_large(error: TooLargeError) -> Problem:
    found = (("body", str(error)),)
    return Problem(status=413, slug="too-large", title="Content too large", detail=str(error), errors=found)


def _unreadable(error: SegmentError | RecordError) -> Problem:
    """The job is there, and cannot be read: never a 404. The operators are told which object it is."""
    key = error.key if isinstance(error, SegmentError) else None
    logger.error("a cold job cannot be read", extra={"action": "api", "object": key, "error": str(error)})
    return COLD_UNREADABLE


def _cold_unavailable(error: ColdUnavailableError) -> Problem:
    logger.error("the cold tier is unavailable", extra={"action": "api", "error": str(error)})
    return COLD_UNAVAILABLE


def _refused_by_database(error: psycopg.DataError) -> Problem:
    """A value that our checks let through and the database does not take: the caller's, though a check is missing."""
    logger.error("the database refused a value", extra={"action": "api", "error": str(error)})
    found = (("body", "holds a value that cannot be stored"),)
    return Problem(status=400, slug="bad-input", title="Bad input", detail=found[0][1], errors=found)


def _unavailable(error: psycopg.Error) -> Problem:
    logger.error("the database is unavailable", extra={"action": "api", "error": str(error)})
    return DATABASE_UNAVAILABLE


def _unforeseen(error: Exception) -> Problem:
    logger.error("request failed", exc_info=error, extra={"action": "api"})
    return Problem(status=500, slug="internal", title="Internal error", detail="something went wrong on our side")


def _ascii(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode()


_MEANINGS: tuple[tuple[type[Exception], Callable[[Any], Problem]], ...] = (
    (FieldError, _bad_input),
    (FieldErrors, _bad_input),
    (ConflictError, _conflict),
    (StateError, _state),
    (QuotaError, _quota),
    (NotFoundError, lambda error: not_found(error.kind)),
    (LeaseLostError, _lease_lost),
    (VersionError, _version),
    (AuthenticationError, _unauthorized),
    (ScopeError, _forbidden),
    (OldSecretError, _old_secret),
    (KeyReusedError, _key_reused),
    (RequestUnderWayError, _under_way),
    (TooLargeError, _too_large),
    (SegmentError, _unreadable),
    (RecordError, _unreadable),
    (ColdUnavailableError, _cold_unavailable),
    (psycopg.DataError, _refused_by_database),
    (psycopg.OperationalError, _unavailable),
    (psycopg.InterfaceError, _unavailable),
)
