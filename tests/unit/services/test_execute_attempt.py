"""An attempt of any kind ends in a result, whatever is wrong with it, and tells nobody a secret."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import io
import json
import logging
import threading
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from hourbell import environment, observability
from hourbell.domain.outcome import AttemptOutcome, AttemptResult
from hourbell.services.execute_attempt import AttemptExecutor
from hourbell.store.executions import LeasedRun
from hourbell.targets.aws import AwsCaller
from hourbell.targets.http import HttpCaller
from hourbell.targets.registry import Callers

from tests.seeds import T0
from tests.unit.targets.calls import JOB, LEASE, RULES, RUN

SECRET = "whsec_" + base64.b64encode(b"the very secret key of billing").decode()
CONFIG = {"url": "http://sink.test/a", "method": "POST", "headers": {}, "secret": None}


def leased(kind: str = "http", **config: Any) -> LeasedRun:
    return LeasedRun(
        job_id=JOB, scheduled_for=T0, run_id=RUN, lane="shared", retry={}, timeout_ms=5_000, target_id=UUID(int=1),
        target_kind=kind, target_config={**CONFIG, **config} if kind == "http" else config, overlap="allow",
        payload='{"n":1}', attempt=1, attempts_before=0, token=LEASE, progress=None, fire_at=T0, started_at=T0,
        lease_expires_at=T0 + timedelta(seconds=60), limited=False,
    )  # fmt: skip


def execute(run: LeasedRun, answer: Any = lambda _: httpx.Response(200)) -> AttemptResult:
    async def attempt() -> AttemptResult:
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
            key = lambda target_id, secret: environment.target_key("stage", target_id, secret)  # noqa: E731
            http = HttpCaller(client=client, clock=lambda: datetime.now(UTC), key=key)
            return await AttemptExecutor(callers=Callers(http=http, aws=lambda: AWS)).execute(run)

    return asyncio.run(attempt())


def no_client(_service: Any) -> Any:
    raise AssertionError("nothing may be called")


AWS = AwsCaller(no_client, RULES)


class Vault:
    """Secrets Manager in memory; counts how often each secret is read."""

    def __init__(self) -> None:
        self.secrets = {"stage": "the stage's own key", "billing": SECRET, "broken": "whsec_%%%" + "hidden" * 3}
        self.reads: list[str] = []

    def get_secret_value(self, SecretId: str) -> dict[str, str]:  # noqa: N803 - boto3's
        from botocore.exceptions import ClientError

        self.reads.append(SecretId)
        if SecretId not in self.secrets:
            denied: Any = {"Error": {"Code": "AccessDeniedException", "Message": "not authorized"}}
            raise ClientError(denied, "GetSecretValue")
        return {"SecretString": self.secrets[SecretId]}


@pytest.fixture(autouse=True)
def vault(monkeypatch: pytest.MonkeyPatch) -> Vault:
    kept = Vault()
    monkeypatch.setattr(environment, "_secrets", {})
    monkeypatch.setattr(environment, "aws_client", lambda _service: kept)
    return kept


def signed_with(request: httpx.Request) -> Any:
    def matches(key: bytes) -> bool:
        parts = (request.headers["webhook-id"], request.headers["webhook-timestamp"], request.content.decode())
        digest = hmac.digest(key, ".".join(parts).encode(), hashlib.sha256)
        return request.headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode()

    return matches


def test_a_target_with_a_secret_signs_with_it_and_reads_it_once(vault: Vault):
    seen: list[httpx.Request] = []
    for _ in range(3):
        execute(leased(secret="billing"), lambda request: seen.append(request) or httpx.Response(200))
    assert all(signed_with(request)(b"the very secret key of billing") for request in seen)
    assert vault.reads == ["billing"]


def test_a_secret_is_read_again_after_a_while(vault: Vault, monkeypatch: pytest.MonkeyPatch):
    execute(leased(secret="billing"))
    now = environment.time.monotonic()
    monkeypatch.setattr(environment.time, "monotonic", lambda: now + environment.SECRET_TTL_SECONDS + 1)
    vault.secrets["billing"] = "another"
    seen: list[httpx.Request] = []
    execute(leased(secret="billing"), lambda request: seen.append(request) or httpx.Response(200))
    assert signed_with(seen[0])(b"another")


def test_a_secret_that_cannot_be_read_may_be_readable_later(vault: Vault):
    result = execute(leased(secret="billing2"))
    assert (result.outcome, result.retryable) == (AttemptOutcome.FAILED, True)
    assert "billing2" in str(result.error)
    vault.secrets["billing2"] = "x"
    assert execute(leased(secret="billing2")).outcome is AttemptOutcome.SUCCEEDED


def test_a_slow_secret_holds_up_nobody(vault: Vault, monkeypatch: pytest.MonkeyPatch):
    """Leases of other runs are kept by the same event loop."""
    gate = threading.Event()
    monkeypatch.setattr(vault, "get_secret_value", lambda **_: gate.wait(20) and {"SecretString": "x"})

    async def run() -> bool:
        waiting = asyncio.create_task(environment.target_key("stage", UUID(int=1), "billing"))
        await asyncio.sleep(0.02)
        was_waiting = not waiting.done()
        gate.set()
        await waiting
        return was_waiting

    assert asyncio.run(run())


@pytest.mark.parametrize(
    "run",
    [
        leased("fax", number="1"),
        leased("sqs", queue_url="nonsense"),
        leased("sqs"),
        leased("lambda", arn=f"arn:aws:lambda:eu-central-1:{'9' * 12}:function:a", invocation="sync"),
        leased(secret="broken"),
    ],
    ids=["kind", "url", "empty", "not allowed", "no key"],
)
def test_a_target_that_cannot_be_called_as_it_stands_is_final(run: LeasedRun):
    result = execute(run)
    assert (result.outcome, result.retryable) == (AttemptOutcome.FAILED, False)
    assert str(result.error).startswith("target: ")


def test_nothing_secret_is_logged_or_recorded(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Every way an attempt can go wrong, at the level at which functions log."""
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", logging.WARNING)
    log = io.StringIO()
    observability.configure_logging()
    root.addHandler(logging.StreamHandler(log))
    header = {"Authorization": "Bearer header-of-the-target"}

    def broken(_request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    answers = [lambda _: httpx.Response(200), lambda _: httpx.Response(500, text="no"), broken]
    results = [
        execute(leased(secret=secret, headers=header), answer)
        for secret in (None, "billing", "broken", "unknown")
        for answer in answers
    ]
    results.append(execute(leased("sqs", queue_url="nonsense")))

    written = log.getvalue() + "".join(capsys.readouterr()) + json.dumps([result.error for result in results])
    assert "refused" in written
    for secret in (*vault.secrets.values(), "the very secret key", "hidden", "header-of-the-target", str(LEASE)):
        assert secret not in written, secret
