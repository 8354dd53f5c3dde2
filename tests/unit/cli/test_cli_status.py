"""``hourbell status``: what runs, and what is wrong in so many words."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hourbell.cli import main
from hourbell.local.processes import ProcessRecord
from hourbell.local.project import StateDirectory
from hourbell.local.state import EMULATOR, POSTGRES, CloudRecord
from typer.testing import CliRunner, Result

THIS = ProcessRecord.of(os.getpid())
GONE = ProcessRecord(pid=os.getpid(), started=1.0)
UP = CloudRecord(
    ready=True,
    url="http://127.0.0.1:1/api",
    api_key="hb_live_x",
    database="dbname=hourbell",
    emulator_port=1,
    pids={POSTGRES: THIS, EMULATOR: THIS},
)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StateDirectory:
    monkeypatch.setenv("HOURBELL_STATE", str(tmp_path))
    return StateDirectory(path=tmp_path)


def status(*arguments: str) -> Result:
    return CliRunner().invoke(main.app, ["status", *arguments])


def test_nothing_was_ever_started(state: StateDirectory):
    result = status()
    assert (result.exit_code, result.stdout) == (1, "The local cloud is down.\n")


def test_a_running_cloud_tells_its_urls_and_key(state: StateDirectory):
    UP.write(state)
    result = status()
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["URL", "http://127.0.0.1:1/api"] in lines
    assert ["Console", "http://127.0.0.1:1/api/console"] in lines
    assert "hb_live_x" in result.stdout


def test_a_dead_process_is_named(state: StateDirectory):
    CloudRecord(ready=True, pids={POSTGRES: THIS, EMULATOR: GONE}).write(state)
    result = status()
    assert (result.exit_code, result.stdout) == (1, "The local cloud is broken (emulator not running): make up\n")


def test_an_up_that_was_broken_off_is_told_apart(state: StateDirectory):
    CloudRecord(ready=False, pids={POSTGRES: THIS, EMULATOR: THIS}).write(state)
    result = status()
    assert result.exit_code == 1
    assert "broken off" in result.stdout


def test_json_has_the_whole_record(state: StateDirectory):
    UP.write(state)
    shown = json.loads(status("--json").stdout)
    assert shown["up"] is True
    assert shown["console"] == "http://127.0.0.1:1/api/console"
    assert shown["pids"][EMULATOR]["pid"] == os.getpid()


def test_without_a_running_cloud_invoke_says_what_to_do(state: StateDirectory, tmp_path: Path):
    event = tmp_path / "event.json"
    event.write_text("{}")
    result = CliRunner().invoke(main.app, ["invoke", "reaper", str(event)])
    assert result.exit_code == 1
    assert "make up" in str(result.exception)
