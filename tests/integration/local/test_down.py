"""``down`` leaves no process behind, whatever state things are in. Real PostgreSQL, real emulator, nothing deployed."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from hourbell.local import cloud, emulator
from hourbell.local.emulator import Emulator
from hourbell.local.postgres import EmbeddedPostgres
from hourbell.local.processes import ProcessRecord, marked
from hourbell.local.project import Project, StateDirectory
from hourbell.local.state import EMULATOR, POSTGRES, CloudRecord


@pytest.fixture(scope="module")
def project() -> Project:
    return Project.find()


@pytest.fixture
def state(project: Project) -> Iterator[StateDirectory]:
    found = StateDirectory(path=Path(tempfile.mkdtemp(prefix="hourbell-down-")))
    yield found
    cloud.down(project, found, purge=True)
    shutil.rmtree(found.path, ignore_errors=True)


def start_emulator(project: Project, state: StateDirectory) -> Emulator:
    return emulator.start(
        python=project.emulator_python,
        programs=project.venv_bin,
        scratch=state.scratch,
        objects=state.objects,
        log=state.logs / "emulator.log",
        mark=str(state.path),
        started=lambda process: None,
    )


def start_postgres(state: StateDirectory) -> ProcessRecord:
    cluster = EmbeddedPostgres(data=state.database, sockets=state.sockets, log=state.logs / "postgres.log")
    return cluster.start().process


def record(state: StateDirectory, **processes: ProcessRecord) -> CloudRecord:
    found = CloudRecord(ready=True, url="http://x", api_key="hb_live_kept", emulator_port=1, pids=processes)
    found.write(state)
    return found


def is_running(process: ProcessRecord) -> bool:
    return process.find() is not None


def test_down_ends_what_the_record_names_and_keeps_the_key(project: Project, state: StateDirectory):
    machine, postgres = start_emulator(project, state), start_postgres(state)
    record(state, **{EMULATOR: machine.process, POSTGRES: postgres})
    assert cloud.down(project, state)
    assert not is_running(machine.process)
    assert not is_running(postgres)
    left = CloudRecord.read(state)
    assert left is not None
    assert (left.pids, left.ready, left.api_key) == ({}, False, "hb_live_kept")
    assert not cloud.down(project, state)


def test_down_finds_what_a_crash_left_without_a_record(project: Project, state: StateDirectory):
    machine, postgres = start_emulator(project, state), start_postgres(state)
    assert cloud.down(project, state)
    assert not is_running(machine.process)
    assert not is_running(postgres)
    assert marked(str(state.path)) == []


def test_down_after_the_emulator_was_killed_ends_the_rest(project: Project, state: StateDirectory):
    machine, postgres = start_emulator(project, state), start_postgres(state)
    before = record(state, **{EMULATOR: machine.process, POSTGRES: postgres})
    running = machine.process.find()
    assert running is not None
    running.send_signal(signal.SIGKILL)
    psutil.wait_procs([running], timeout=5)
    assert before.missing() == [EMULATOR]
    assert cloud.down(project, state)
    assert not is_running(postgres)


def test_down_never_touches_a_process_that_only_has_the_same_id(project: Project, state: StateDirectory):
    this_test = ProcessRecord(pid=os.getpid(), started=1.0)
    record(state, **{EMULATOR: this_test, POSTGRES: this_test})
    assert not cloud.down(project, state)
    assert psutil.pid_exists(os.getpid())


def test_two_clouds_know_nothing_of_each_other(project: Project, state: StateDirectory, tmp_path: Path):
    machine = start_emulator(project, state)
    assert not cloud.down(project, StateDirectory(path=tmp_path))
    assert is_running(machine.process)


def test_the_emulator_answers_on_the_loopback_address_only(project: Project, state: StateDirectory):
    machine = start_emulator(project, state)
    running = machine.process.find()
    assert running is not None
    listening = {c.laddr.ip for c in running.net_connections("inet") if c.status == psutil.CONN_LISTEN}
    assert listening == {"127.0.0.1"}


def test_purge_forgets_the_database_and_the_key(project: Project, state: StateDirectory):
    record(state, **{POSTGRES: start_postgres(state)})
    assert cloud.down(project, state, purge=True)
    assert CloudRecord.read(state) is None
    assert not state.sockets.exists()
    assert not state.database.exists()
