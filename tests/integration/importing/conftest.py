"""``hourbell import`` against an engine of the test helper."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hourbell.cli import connection, main
from hourbell.testing import Engine, Server
from typer.testing import CliRunner, Result

from tests.seeds import T0


@pytest.fixture
def engine(engine_server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setenv("HOURBELL_URL", "https://hourbell.example")
    monkeypatch.setenv("HOURBELL_API_KEY", "hb_live_key")
    with engine_server.engine(now=T0) as engine:
        monkeypatch.setattr(connection, "Client", lambda url, key: engine.new_client())
        yield engine


Command = Callable[..., Result]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs ``hourbell import …``."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    return lambda *arguments, stdin=None: CliRunner().invoke(main.app, ["import", *arguments], input=stdin)


def actions(result: Result) -> list[str]:
    assert result.exit_code == 0, result.output
    report: dict[str, Any] = json.loads(result.stdout)
    return [job["action"] for job in report["jobs"]]
