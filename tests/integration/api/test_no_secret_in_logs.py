"""Nothing secret is logged: a pass of authorizer, API and worker over what goes well and what goes wrong."""

from __future__ import annotations

import asyncio
import json
import logging
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from hourbell.domain.ids import encode
from hourbell.environment import SecretError
from hourbell.lanes.deliveries import Delivery
from hourbell.observability import configure_logging, emit
from hourbell.services.authenticate import authenticate
from hourbell.services.execute_attempt import AttemptExecutor
from hourbell.services.execute_batch import Executor, execute_batch
from hourbell.store.connection import Database
from hourbell.targets.http import HttpCaller
from hourbell.targets.registry import Callers

from tests.integration.api.conftest import Application, Client
from tests.seeds import RecordingLanes

API_KEY = "hb_live_k3ptfr0mth3l0gs0fany0nexxxxxxxxxxxxx"
STAGE_KEY = b"stage-signing-key-kept-from-logs"
TARGET_KEY = b"target-signing-key-kept-from-logs"
AUTHORIZATION = "Bearer header-of-a-target-kept-from-logs"
URL_TOKEN = "token-in-an-url-kept-from-logs"
PAYLOAD = "payload-kept-from-logs"

KEPT = [
    API_KEY,
    *(form for key in (STAGE_KEY, TARGET_KEY) for form in (key.decode(), b64encode(key).decode(), key.hex())),
    AUTHORIZATION,
    URL_TOKEN,
    PAYLOAD,
]


class Everything(logging.Handler):
    """Whatever Lambda's JSON format would write: message, fields, traceback."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        line = {**vars(record), "message": record.getMessage()}
        if record.exc_info:
            line["traceback"] = logging.Formatter().formatException(record.exc_info)
        self.lines.append(json.dumps(line, default=repr))


@pytest.fixture
def logged() -> Iterator[Everything]:
    """As a function logs: at the level that it configures."""
    root, handler = logging.getLogger(), Everything()
    level = root.level
    root.addHandler(handler)
    configure_logging()
    yield handler
    root.removeHandler(handler)
    root.setLevel(level)


@pytest.fixture
def database_of_all(conninfo: str) -> Iterator[Database]:
    opened = Database(conninfo)
    yield opened
    opened.close()


def use_the_api(client: Client, admin: Any) -> None:
    """Right and wrong requests, and one that fails for no reason of its caller's."""
    client.headers = {"authorization": f"Bearer {API_KEY}"}
    url = f"http://127.0.0.1:9/{URL_TOKEN}?token={URL_TOKEN}"
    prefix = f"hourbell/test/targets/{encode('ten', client.tenant_id)}/"
    http = {"url": url, "headers": {"Authorization": AUTHORIZATION}}
    client.target("open", http=http)
    client.target("signed", http={**http, "secret": f"{prefix}hook"})
    for target in ("open", "signed"):
        job = client.job(target=target, payload={"secret": PAYLOAD}, retry={"max_attempts": 2})
        for _ in range(3):
            assert client.post(f"/v1/jobs/{job['id']}/trigger", {}).status in {200, 201, 202}
    assert client.post("/v1/jobs", {"target": "open", "payload": PAYLOAD}).status == 400
    assert client.post("/v1/jobs", raw='{"payload": "' + PAYLOAD).status == 400
    assert client.get("/v1/nowhere").status == 404

    def fail() -> bytes:
        raise RuntimeError("out of order")

    api = replace(client.application._api, stage_key=fail)
    broken = replace(client, application=Application(api))
    target = client.get("/v1/targets", query={"name": "open"}).json["items"][0]
    assert broken.get(f"/v1/targets/{target['id']}/signing-secret").status == 500
    admin.execute("update run set next_attempt_at = clock_timestamp(), fire_at = clock_timestamp()")


def work(database: Database, deliveries: list[Delivery]) -> None:
    """One batch: an answer, an echo of everything with an error, no connection, no key, a bug."""
    answers = iter([200, 500, "refused", "bug", 200, 410])

    def answer(request: httpx.Request) -> httpx.Response:
        what = next(answers)
        if what == "refused":
            raise httpx.ConnectError(f"cannot connect to {request.url.host}", request=request)
        if what == "bug":
            raise LookupError("a bug")
        assert isinstance(what, int)
        return httpx.Response(what, text=f"you said {request.headers} {request.content!r} {request.url}")

    keys = iter([True, False])

    async def key(_target: Any, secret: str | None) -> bytes:
        if secret is not None and not next(keys, True):
            raise SecretError(f"secret {secret!r} cannot be read")
        return STAGE_KEY if secret is None else TARGET_KEY

    async def batch() -> None:
        client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        http = HttpCaller(client=client, clock=lambda: datetime.now(UTC), key=key)
        attempts = AttemptExecutor(callers=Callers(http=http, aws=lambda: None))  # type: ignore[arg-type, return-value]
        executor = Executor(
            database=database, lanes=RecordingLanes(), execute=attempts.execute, clock=lambda: datetime.now(UTC)
        )
        report = await execute_batch(executor, deliveries)
        emit("test", {"LatenessMs": [attempt.lateness_ms for attempt in report.attempts]})
        await database.close_async()

    asyncio.run(batch())


def test_nothing_secret_is_logged(
    client: Client, admin: Any, database_of_all: Database, logged: Everything, capsys: Any
):
    database = database_of_all
    client.now = datetime.now(UTC)
    lanes = client.application._api.scheduler.lanes
    assert isinstance(lanes, RecordingLanes)
    for header in (f"Bearer {API_KEY}", API_KEY, f"Bearer {API_KEY[:-1]}", f"Basic {API_KEY}", None):
        authenticate(database, header, now=client.now)
    use_the_api(client, admin)
    deliveries = [Delivery(message_id=str(n), message=m) for n, m in enumerate(lanes.take())]
    work(database, [replace(d, message=d.message._replace(ready_at=client.now)) for d in deliveries])

    output = capsys.readouterr()
    written = "\n".join([*logged.lines, output.out, output.err])
    assert len(deliveries) == 6
    assert "a bug" in written
    assert "out of order" in written  # the pass went where it should
    assert [secret for secret in KEPT if secret in written] == []
