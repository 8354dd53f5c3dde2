"""The ``http`` target: one signed POST per attempt, and what its answer means (API.md's status table)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from hourbell.domain.errors import FieldError, FieldErrors
from hourbell.domain.ids import encode
from hourbell.domain.instants import format_instant
from hourbell.domain.outcome import AttemptOutcome, AttemptResult
from hourbell.targets.call import TargetCall, clean_error
from hourbell.targets.signature import sign

if TYPE_CHECKING:
    import httpx

    from hourbell.targets.rules import TargetRules


# What is read of an answer at most; a longer one costs its connection.
RESPONSE_MAX_BYTES = 65_536

# Answers after which another attempt may help: RFC 9110 408, RFC 8470 425, RFC 6585 429, and all of 5xx.
RETRYABLE_STATUSES = frozenset({408, 425, 429})

# RFC 9110: "likely to be permanent".
GONE = 410

RETRY_AFTER_MAX = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCaller:
    """What HTTP calls are made with. ``key``: the signing key of a target, by its id and the secret it names."""

    client: httpx.AsyncClient
    clock: Callable[[], datetime]
    key: Callable[[UUID, str | None], Awaitable[bytes]]


def check(config: Mapping[str, Any], rules: TargetRules, tenant_id: UUID) -> dict[str, Any]:
    """The config to be stored, its URL in its plain form.

    Raises:
        FieldErrors: every bad member by its path.
    """
    # Here, because workers read this module and never check.
    from hourbell.targets.headers import header_errors
    from hourbell.targets.url_guard import UrlError, check_url

    errors: list[FieldError] = []
    url = config["url"]
    try:
        url = str(check_url(url, private_allowed=rules.private_allowed))
    except UrlError as error:
        errors.append(FieldError("url", str(error)))
    errors.extend(header_errors(config["headers"]))
    if config["secret"] is not None:
        try:
            rules.check_secret(config["secret"], tenant_id, field="secret")
        except FieldError as error:
            errors.append(error)
    if errors:
        raise FieldErrors(errors)
    return {"url": url, "method": config["method"], "headers": dict(config["headers"]), "secret": config["secret"]}


async def call(caller: HttpCaller, call: TargetCall) -> AttemptResult:
    """Sign the call and make it.

    Raises:
        HourbellError: the key could not be had.
    """
    key = await caller.key(call.target_id, call.config.get("secret"))
    return await call_http(caller.client, call, key=key, now=caller.clock())


def request_headers(call: TargetCall, *, key: bytes, now: datetime) -> dict[str, str]:
    """The headers of API.md; those of the target come first, so that none can replace ours."""
    timestamp = int(now.timestamp())
    run = encode("run", call.run_id)
    return {
        **(call.config.get("headers") or {}),
        **headers_about(call),
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(key, message_id=run, timestamp=timestamp, body=call.payload.encode()),
    }


def headers_about(call: TargetCall) -> dict[str, str]:
    """Those that say what the call is: neither the target's own nor a proof of anything."""
    run = encode("run", call.run_id)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Hourbell",
        "Idempotency-Key": run,
        "Hourbell-Attempt": str(call.attempt),
        "Hourbell-Job": encode("job", call.job_id),
        "Hourbell-Scheduled-For": format_instant(call.scheduled_for),
        "Hourbell-Lease-Token": str(call.lease_token),
        "webhook-id": run,
    }
    if call.progress is not None:
        headers["Hourbell-Progress"] = call.progress
    if call.is_test:
        headers["Hourbell-Test"] = "true"
    return headers


async def call_http(client: httpx.AsyncClient, call: TargetCall, *, key: bytes, now: datetime) -> AttemptResult:
    """Make the call; every failure becomes a result, none is raised (but cancellation)."""
    import httpx  # here, because the API reads this module and never calls

    started = time.monotonic()
    try:
        status, headers, text = await _exchange(client, call, request_headers(call, key=key, now=now))
    except (TimeoutError, httpx.TimeoutException) as error:
        return _result(AttemptOutcome.TIMED_OUT, started, error=f"no answer in time ({type(error).__name__})")
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        return _result(AttemptOutcome.FAILED, started, error=clean_error(f"{type(error).__name__}: {error}"))
    return judge_answer(status, headers, text, started=started, now=now)


async def _exchange(
    client: httpx.AsyncClient, call: TargetCall, headers: Mapping[str, str]
) -> tuple[int, httpx.Headers, str]:
    seconds = call.timeout.total_seconds()
    async with (
        asyncio.timeout(seconds),
        client.stream(
            call.config.get("method", "POST"),
            call.config["url"],
            content=call.payload.encode(),
            headers=headers,
            timeout=seconds,
            follow_redirects=False,
        ) as response,
    ):
        kept = bytearray()
        async for chunk in response.aiter_bytes():
            kept += chunk[: RESPONSE_MAX_BYTES - len(kept)]
            if len(kept) >= RESPONSE_MAX_BYTES:
                break
        return response.status_code, response.headers, kept.decode("utf-8", "replace")


def judge_answer(status: int, headers: Mapping[str, str], text: str, *, started: float, now: datetime) -> AttemptResult:
    """What an answer means: 202 with ``Hourbell-Async`` works on; other 2xx succeeded; 408, 425, 429 and 5xx may be
    tried again; all others are final, and 410 says so for good."""
    if status == 202 and headers.get("hourbell-async", "").strip().lower() == "true":
        return AttemptResult(outcome=AttemptOutcome.SUCCEEDED, accepted=True, status_code=status)
    if 200 <= status < 300:
        return _result(AttemptOutcome.SUCCEEDED, started, status=status, retryable=False)
    retryable = status in RETRYABLE_STATUSES or status >= 500
    failed = _result(
        AttemptOutcome.FAILED,
        started,
        status=status,
        retryable=retryable,
        error=clean_error(f"HTTP {status}: {text}") if text else f"HTTP {status}",
        retry_after=_retry_after(headers.get("retry-after"), now) if retryable else None,
    )
    return replace(failed, gone=status == GONE)


def _result(
    outcome: AttemptOutcome,
    started: float,
    *,
    status: int | None = None,
    retryable: bool = True,
    error: str | None = None,
    retry_after: timedelta | None = None,
) -> AttemptResult:
    return AttemptResult(
        outcome=outcome,
        retryable=retryable,
        status_code=status,
        error=error,
        retry_after=retry_after,
        duration_ms=round((time.monotonic() - started) * 1000),
    )


def _retry_after(value: str | None, now: datetime) -> timedelta | None:
    """``Retry-After`` (RFC 9110 §10.2.3): seconds or a date; nonsense and the past are ignored."""
    if value is None:
        return None
    try:
        wanted = timedelta(seconds=int(value)) if value.isascii() and value.isdigit() else _until(value, now)
    except (ValueError, OverflowError):
        return RETRY_AFTER_MAX if value.isascii() and value.isdigit() else None
    return max(timedelta(0), min(wanted, RETRY_AFTER_MAX))


def _until(value: str, now: datetime) -> timedelta:
    instant = parsedate_to_datetime(value)
    if instant.tzinfo is None:
        raise ValueError("a date without a zone")
    return instant - now
