"""The HTTP target against a server in memory: what it sends, and what each answer means."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from hourbell.domain.ids import encode
from hourbell.domain.outcome import AttemptOutcome, AttemptResult
from hourbell.targets.call import ERROR_MAX_CHARACTERS, TargetCall
from hourbell.targets.http import RESPONSE_MAX_BYTES, call_http, request_headers

from tests.seeds import T0

CALL = TargetCall(
    config={
        "url": "http://sink.test/a",
        "method": "POST",
        "headers": {"X-Team": "payments", "Idempotency-Key": "theirs"},
        "secret": None,
    },
    payload='{"n":1}',
    target_id=UUID(int=6),
    timeout=timedelta(seconds=5),
    run_id=UUID(int=7),
    job_id=UUID(int=8),
    scheduled_for=T0,
    attempt=2,
    lease_token=UUID(int=9),
)


def call(handler: Any, made: TargetCall = CALL) -> AttemptResult:
    async def run() -> AttemptResult:
        async with httpx.AsyncClient(transport=httpx.MockTransport(handler)) as client:
            return await call_http(client, made, key=b"key", now=T0)

    return asyncio.run(run())


def answer(status: int, **kwargs: Any) -> AttemptResult:
    return call(lambda request: httpx.Response(status, **kwargs))


def test_the_request_is_what_the_contract_says():
    seen: list[httpx.Request] = []
    call(lambda request: seen.append(request) or httpx.Response(204))
    (request,) = seen
    assert (request.method, str(request.url), request.content) == ("POST", "http://sink.test/a", b'{"n":1}')
    assert request.headers["idempotency-key"] == encode("run", CALL.run_id)
    assert request.headers["hourbell-attempt"] == "2"
    assert request.headers["hourbell-job"] == encode("job", CALL.job_id)
    assert request.headers["hourbell-scheduled-for"] == "2027-05-09T12:00:00.000Z"
    assert request.headers["hourbell-lease-token"] == str(CALL.lease_token)
    assert request.headers["x-team"] == "payments"
    assert json.loads(request.content) == {"n": 1}


def test_the_signature_is_standard_webhooks():
    headers = request_headers(CALL, key=b"key", now=T0)
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + CALL.payload.encode()
    expected = base64.b64encode(hmac.digest(b"key", signed, hashlib.sha256)).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert headers["webhook-timestamp"] == str(int(T0.timestamp()))


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_2xx_succeeds(status: int):
    assert answer(status).outcome is AttemptOutcome.SUCCEEDED


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 599])
def test_answers_that_another_attempt_may_cure(status: int):
    result = answer(status)
    assert (result.outcome, result.retryable, result.status_code) == (AttemptOutcome.FAILED, True, status)


@pytest.mark.parametrize("status", [301, 307, 400, 401, 404, 409, 410, 422])
def test_answers_that_are_final(status: int):
    assert answer(status, headers={"location": "http://elsewhere.test/"}).retryable is False


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        ("0", 0),
        ("Sun, 09 May 2027 12:05:00 GMT", 300),
        ("Sun, 09 May 2027 11:00:00 GMT", 0),
        ("99999999999999999999", 86_400),
        ("-5", None),
        ("soon", None),
        ("١٢", None),
    ],
)
def test_retry_after(value: str, seconds: int | None):
    result = answer(503, headers=[(b"retry-after", value.encode())])
    assert result.retry_after == (None if seconds is None else timedelta(seconds=seconds))


@pytest.mark.parametrize(
    "error", [httpx.ConnectError("refused"), httpx.ReadError("reset"), httpx.RemoteProtocolError("x")]
)
def test_a_broken_connection_may_be_tried_again(error: Exception):
    def fail(request: httpx.Request) -> httpx.Response:
        raise error

    result = call(fail)
    assert (result.outcome, result.retryable) == (AttemptOutcome.FAILED, True)


def test_a_target_that_does_not_answer_in_time_is_cut_off():
    async def hang(request: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async def run() -> AttemptResult:
        made = replace(CALL, timeout=timedelta(milliseconds=20))
        async with httpx.AsyncClient(transport=httpx.MockTransport(hang)) as client:
            return await call_http(client, made, key=b"key", now=T0)

    assert asyncio.run(run()).outcome is AttemptOutcome.TIMED_OUT


def test_an_endless_answer_is_read_no_further_than_what_is_kept():
    read = 0

    async def endless():
        nonlocal read
        while True:
            read += 1
            yield b"x" * 10_000

    result = answer(500, content=endless())
    assert read <= RESPONSE_MAX_BYTES // 10_000 + 1
    assert len(result.error or "") <= ERROR_MAX_CHARACTERS


def test_error_text_that_postgres_would_refuse_is_escaped():
    assert "\0" not in (answer(500, content=b"a\0b\xff").error or "")


@pytest.mark.parametrize(("status", "gone"), [(410, True), (404, False), (503, False), (200, False)])
def test_only_410_says_that_a_target_is_gone_for_good(status: int, gone: bool):
    result = answer(status)
    assert (result.gone, result.gone and result.retryable) == (gone, False)
