"""Only our own processes are ever ended."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from hourbell.local.processes import MARK, ProcessRecord, end, marked, spawn, with_descendants

WAIT = "import signal; signal.pause()"
PARENT = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {WAIT!r}]); import signal; signal.pause()"


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[str]:
    yield str(tmp_path)
    end(marked(str(tmp_path)), ask=signal.SIGKILL, patience=5)


def start(mark: str, tmp_path: Path, code: str = WAIT) -> ProcessRecord:
    return spawn([sys.executable, "-c", code], environ={MARK: mark}, log=tmp_path / "log")


def test_a_spawned_process_is_found_by_its_record(mark: str, tmp_path: Path):
    record = start(mark, tmp_path)
    found = record.find()
    assert found is not None
    assert found.pid == record.pid


def test_a_process_with_the_same_id_but_another_start_is_not_ours(mark: str, tmp_path: Path):
    record = start(mark, tmp_path)
    assert ProcessRecord(pid=record.pid, started=record.started - 60).find() is None


def test_an_ended_process_is_not_found(mark: str, tmp_path: Path):
    record = start(mark, tmp_path)
    end([psutil.Process(record.pid)], ask=signal.SIGTERM, patience=5)
    assert record.find() is None


def test_a_process_that_ignores_the_request_is_killed(mark: str, tmp_path: Path):
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); signal.pause()"
    record = start(mark, tmp_path, deaf)
    wait_for_text(tmp_path / "log", "deaf")
    end([psutil.Process(record.pid)], ask=signal.SIGTERM, patience=0.1)
    assert record.find() is None


def test_a_lost_record_is_made_good_by_the_mark(mark: str, tmp_path: Path):
    record = start(mark, tmp_path)
    assert [process.pid for process in marked(mark)] == [record.pid]
    assert marked(mark + "-another") == []


def test_descendants_are_ended_with_their_parent(mark: str, tmp_path: Path):
    record = start(mark, tmp_path, PARENT)
    parent = psutil.Process(record.pid)
    while len(with_descendants(parent)) < 2:
        os.sched_yield()
    family = with_descendants(parent)
    end(family, ask=signal.SIGTERM, patience=5)
    assert not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in family)


def wait_for_text(path: Path, text: str) -> None:
    while text not in (path.read_text() if path.exists() else ""):
        os.sched_yield()
