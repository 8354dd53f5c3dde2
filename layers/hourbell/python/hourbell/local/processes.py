"""Background processes that are ended only when they are provably ours.

A process is remembered as its id *and* start time: ids are used again, the pair is not. Should the record be lost (a
crash between start and note), the processes of one cloud still carry its mark in their environment.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

MARK = "HOURBELL_LOCAL_CLOUD"

# psutil derives start times from clock ticks since boot: two readings of one process may differ by this much.
_START_TOLERANCE_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRecord:
    """One process, for all time."""

    pid: int
    started: float

    @classmethod
    def of(cls, pid: int) -> ProcessRecord:
        """The process that has this id now.

        Raises:
            psutil.NoSuchProcess: there is none.
        """
        return cls(pid=pid, started=psutil.Process(pid).create_time())

    def find(self) -> psutil.Process | None:
        """The living process, or None when it ended, also when its id belongs to another by now."""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started) < _START_TOLERANCE_SECONDS
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The unprivileged account a program runs under when it refuses to be root."""

    uid: int
    gid: int


def spawn(
    command: Sequence[str | Path],
    *,
    environ: Mapping[str, str],
    log: Path,
    account: Account | None = None,
) -> ProcessRecord:
    """Start a program in a session of its own, so that it outlives this one and a Ctrl-C at the terminal."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd="/",
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
    # The handle is dropped on purpose: Popen would warn that its process still runs.
    process.returncode = 0
    return ProcessRecord.of(process.pid)


def marked(mark: str) -> list[psutil.Process]:
    """Living processes of this user that were started, directly or not, for the cloud of this mark."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(MARK) == mark:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess, OSError):
            continue
    return found


def with_descendants(process: psutil.Process) -> list[psutil.Process]:
    """The process and everything below it."""
    try:
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def end(processes: Iterable[psutil.Process], *, ask: signal.Signals, patience: float) -> None:
    """Ask all of them to end, then insist after ``patience`` seconds. Returns when none is left."""
    remaining = [process for process in processes if _signal(process, ask)]
    _, remaining = psutil.wait_procs(remaining, timeout=patience)
    for process in remaining:
        _signal(process, signal.SIGKILL)
    psutil.wait_procs(remaining, timeout=5)


def _signal(process: psutil.Process, number: signal.Signals) -> bool:
    """Whether the signal reached a living process (psutil itself refuses an id that was used again)."""
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return False
    return True
