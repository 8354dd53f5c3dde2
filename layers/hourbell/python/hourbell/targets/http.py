"""The ``http`` target: one signed POST per attempt, and what its answer means (API.md's status table)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from uuid import UUID

import httpx

from hourbell.domain.ids import encode
from hourbell.domain.instants import format_instant
from hourbell.domain.outcome import AttemptOutcome, AttemptResult
from hourbell.targets.signature import sign

# What is read of an answer at most; a longer one costs its connection.
RESPONSE_MAX_BYTES = 65_536
ERROR_MAX_CHARACTERS = 500

# Answers after which another attempt may help: RFC 9110 408, RFC 8470 425, RFC 6585 429, and all of 5xx.
RETRYABLE_STATUSES = frozenset({408, 425, 429})

RETRY_AFTER_MAX = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCall:
    """One attempt to be made. ``body``: the payload's JSON."""

    url: str
    method: str
    headers: Mapping[str, str]
    body: bytes
    key: bytes
    timeout: timedelta
    run_id: UUID
    job_id: UUID
    scheduled_for: datetime
    attempt: int
    lease_token: UUID
    progress: str | None = None


def request_headers(call: HttpCall, *, now: datetime) -> dict[str, str]:
    """The headers of API.md; those of the target come first, so that none can replace ours."""
    run = encode("run", call.run_id)
    timestamp = int(now.timestamp())
    headers = {
        **call.headers,
        "Content-Type": "application/json",
        "User-Agent": "Hourbell",
        "Idempotency-Key": run,
        "Hourbell-Attempt": str(call.attempt),
        "Hourbell-Job": encode("job", call.job_id),
        "Hourbell-Scheduled-For": format_instant(call.scheduled_for),
        "Hourbell-Lease-Token": str(call.lease_token),
        "webhook-id": run,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(call.key, message_id=run, timestamp=timestamp, body=call.body),
    }
    if call.progress is not None:
        headers["Hourbell-Progress"] = call.progress
    return headers


async def call_http(client: httpx.AsyncClient, call: HttpCall, *, now: datetime) -> AttemptResult:
    """Make the call; every failure becomes a result, none is raised (but cancellation)."""
    started = time.monotonic()
    try:
        status, headers, text = await _exchange(client, call, now)
    except (TimeoutError, httpx.TimeoutException) as error:
        return _result(AttemptOutcome.TIMED_OUT, started, error=f"no answer in time ({type(error).__name__})")
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        return _result(AttemptOutcome.FAILED, started, error=_clean(f"{type(error).__name__}: {error}"))
    return judge_answer(status, headers, text, started=started, now=now)


async def _exchange(client: httpx.AsyncClient, call: HttpCall, now: datetime) -> tuple[int, httpx.Headers, str]:
    seconds = call.timeout.total_seconds()
    async with (
        asyncio.timeout(seconds),
        client.stream(
            call.method,
            call.url,
            content=call.body,
            headers=request_headers(call, now=now),
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
    tried again; all others are final."""
    if status == 202 and headers.get("hourbell-async", "").strip().lower() == "true":
        return AttemptResult(outcome=AttemptOutcome.SUCCEEDED, accepted=True, status_code=status)
    if 200 <= status < 300:
        return _result(AttemptOutcome.SUCCEEDED, started, status=status, retryable=False)
    retryable = status in RETRYABLE_STATUSES or status >= 500
    return _result(
        AttemptOutcome.FAILED,
        started,
        status=status,
        retryable=retryable,
        error=_clean(f"HTTP {status}: {text}") if text else f"HTTP {status}",
        retry_after=_retry_after(headers.get("retry-after"), now) if retryable else None,
    )


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


def _clean(text: str) -> str:
    """Error text as Postgres takes it (no NUL) and a person reads it (bounded)."""
    return text.replace("\0", "\\0")[:ERROR_MAX_CHARACTERS]


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
