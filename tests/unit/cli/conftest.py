"""Commands against an API that answers from a table."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from hourbell.cli import connection, main
from hourbell.client import Client
from typer.testing import CliRunner, Result

JOB = {
    "id": "job_01",
    "name": "nightly",
    "state": "active",
    "schedule": {"cron": "0 2 * * *", "timezone": "Asia/Kolkata"},
    "target": "billing",
    "payload": None,
    "next_run_at": "2026-11-30T20:30:00.000Z",
    "next_runs": ["2026-11-30T20:30:00.000Z", "2026-12-01T20:30:00.000Z"],
    "version": 1,
    "tier": "hot",
    "tags": {},
    "created_at": "2026-11-29T12:00:00.000Z",
    "updated_at": "2026-11-29T12:00:00.000Z",
}
RUN = {
    "id": "run_01",
    "job_id": "job_01",
    "scheduled_for": "2026-11-29T12:00:00.000Z",
    "fire_at": "2026-11-29T12:00:00.000Z",
    "state": "dead",
    "reason": None,
    "attempt": 2,
    "lateness_ms": 7,
    "progress": None,
    "attempts": [
        {
            "number": 1,
            "started_at": "2026-11-29T12:00:00.007Z",
            "finished_at": "2026-11-29T12:00:00.019Z",
            "outcome": "failed",
            "status_code": 503,
            "error": "the target answered 503",
            "duration_ms": 12,
        }
    ],
}


class Stage:
    """Runs commands against an API that answers from a table."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[httpx.Request] = []
        self.replies: dict[tuple[str, str], httpx.Response] = {}
        self.handlers: dict[str, Callable[[httpx.Request], httpx.Response]] = {}
        monkeypatch.setenv("HOURBELL_URL", "https://hourbell.example")
        monkeypatch.setenv("HOURBELL_API_KEY", "hb_live_key")
        transport = httpx.MockTransport(self._answer)
        monkeypatch.setattr(connection, "Client", lambda url, key: Client(url, key, transport=transport))

    def answer(self, method: str, path: str, body: Any, status: int = 200) -> None:
        self.replies[(method, path)] = httpx.Response(status, json=body)

    def run(self, *arguments: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(main.app, list(arguments), input=stdin)

    def sent(self) -> Any:
        return json.loads(self.seen[-1].content)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        if request.method in self.handlers:
            return self.handlers[request.method](request)
        return self.replies[(request.method, request.url.path)]


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)
