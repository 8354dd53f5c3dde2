"""The record of a local cloud."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hourbell.local.errors import LocalCloudError
from hourbell.local.processes import ProcessRecord
from hourbell.local.project import StateDirectory
from hourbell.local.state import EMULATOR, POSTGRES, Cloud, CloudRecord, locked

THIS = ProcessRecord.of(os.getpid())
GONE = ProcessRecord(pid=os.getpid(), started=1.0)


@pytest.fixture
def state(tmp_path: Path) -> StateDirectory:
    return StateDirectory(path=tmp_path / "state")


def complete(**changes: object) -> CloudRecord:
    fields = {
        "ready": True,
        "url": "http://127.0.0.1:1/api",
        "api_key": "hb_live_x",
        "database": "host=/tmp dbname=hourbell",
        "emulator_port": 1,
        "pids": {POSTGRES: THIS, EMULATOR: THIS},
        **changes,
    }
    return CloudRecord(**fields)  # type: ignore[arg-type]


def test_what_was_written_is_read_again(state: StateDirectory):
    complete().write(state)
    assert CloudRecord.read(state) == complete()


def test_only_its_owner_may_read_the_key(state: StateDirectory):
    complete().write(state)
    assert stat.S_IMODE(state.record.stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"pids": {"postgres": 7}}', '{"pids": {}, "new": 1}'])
def test_a_record_that_cannot_be_read_is_none(state: StateDirectory, text: str):
    state.path.mkdir()
    state.record.write_text(text)
    assert CloudRecord.read(state) is None


def test_a_cloud_is_up_when_it_was_finished_and_all_runs():
    assert complete().is_up
    assert not complete(ready=False).is_up
    assert not complete(pids={POSTGRES: THIS}).is_up


def test_a_process_that_died_is_named():
    assert complete(pids={POSTGRES: THIS, EMULATOR: GONE}).missing() == [EMULATOR]


def test_an_incomplete_record_is_no_cloud():
    with pytest.raises(LocalCloudError, match="make up"):
        Cloud.of(CloudRecord())


def test_two_commands_cannot_bring_the_same_cloud_up(state: StateDirectory):
    with locked(state), pytest.raises(LocalCloudError, match="Another command"), locked(state):
        pass


def test_two_checkouts_have_sockets_of_their_own(tmp_path: Path):
    first, second = (StateDirectory(path=tmp_path / name) for name in ("one", "two"))
    assert first.sockets != second.sockets
    assert first.sockets == StateDirectory(path=tmp_path / "one").sockets
