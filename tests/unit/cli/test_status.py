"""``hourbell status``: where the local cloud answers."""

from __future__ import annotations

import json

import pytest
from hourbell.cli.cloud import status
from hourbell.local.state import CloudRecord


@pytest.fixture(autouse=True)
def running_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    record = CloudRecord(ready=True, url="http://127.0.0.1:1/api", api_key="hb_x", database="db", emulator_port=1)
    monkeypatch.setattr(CloudRecord, "read", lambda _state: record)
    monkeypatch.setattr(CloudRecord, "missing", lambda _record: [])


def test_it_names_the_console_beside_the_api(capsys: pytest.CaptureFixture[str]) -> None:
    status()

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["Console", "http://127.0.0.1:1/api/console"] in lines


def test_it_names_it_as_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    status(as_json=True)

    assert json.loads(capsys.readouterr().out)["console"] == "http://127.0.0.1:1/api/console"
