"""The AWS emulator: one process for the services, and one more for each Lambda environment it starts."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from hourbell.local.errors import LocalCloudError
from hourbell.local.processes import MARK, ProcessRecord, end, marked, spawn, with_descendants
from hourbell.local.project import HOST

REGION = "us-east-1"
ACCOUNT = "000000000000"

_START_TIMEOUT_SECONDS = 30
_PORT_TRIES = 5


class _PortTakenError(Exception):
    """Somebody took the port between choosing it and binding it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Emulator:
    """A running emulator."""

    port: int
    process: ProcessRecord

    @property
    def endpoint(self) -> str:
        """Where all its services answer."""
        return f"http://{HOST}:{self.port}"

    def api_url(self, api_id: str) -> str:
        """Where an HTTP API's default stage answers."""
        return f"{self.endpoint}/_aws/execute-api/{api_id}/$default"

    @property
    def environment(self) -> str:
        """The account and region, as the CDK names them."""
        return f"aws://{ACCOUNT}/{REGION}"

    def environ(self) -> dict[str, str]:
        """What makes an AWS client talk to this emulator, and to nothing else."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": ACCOUNT,
            "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": HOST,
            "no_proxy": HOST,
        }


def start(
    *,
    python: Path,
    programs: Path,
    scratch: Path,
    objects: Path,
    log: Path,
    mark: str,
    preferred_port: int | None = None,
    started: Callable[[ProcessRecord], None],
) -> Emulator:
    """Start the emulator on a free port and wait until it answers.

    Args:
        python: the interpreter that has the emulator; it runs the Lambdas too.
        programs: where ``node`` lies, for the CDK's own Lambdas (custom resources).
        scratch: for its temporary files; emptied first.
        objects: where its S3 keeps what it has, also for the next emulator.
        mark: names the cloud in the environment of every process it starts.
        preferred_port: taken when it is free, so that URLs outlive a restart.
        started: told of the process as soon as there is one.

    Raises:
        LocalCloudError: it does not come up.
    """
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for port in _ports(preferred_port):
        log_start = log.stat().st_size if log.exists() else 0
        process = spawn([python, "-m", "ministack"], environ=_environ(port, programs, scratch, objects, mark), log=log)
        started(process)
        emulator = Emulator(port=port, process=process)
        try:
            _wait_until_ready(emulator, log, log_start)
        except _PortTakenError:
            continue
        return emulator
    raise LocalCloudError(f"No port of {HOST} stayed free for the emulator; its log is {log}.")


def stop(process: ProcessRecord | None, *, mark: str) -> bool:
    """End the emulator and every Lambda process it started, also those that outlived it; whether there was any.

    At once: it keeps nothing on disk, and what a worker leaves unfinished is recovered as after any crash.
    """
    running = process.find() if process else None
    tree = with_descendants(running) if running else []
    end(tree, ask=signal.SIGKILL, patience=5)
    outlived = marked(mark)
    end(outlived, ask=signal.SIGKILL, patience=5)
    return bool(tree or outlived)


def free_port() -> int:
    """A TCP port of the loopback address that nobody uses right now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _ports(preferred: int | None) -> Iterator[int]:
    if preferred is not None and _is_free(preferred):
        yield preferred
    for _ in range(_PORT_TRIES):
        yield free_port()


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def _environ(port: int, programs: Path, scratch: Path, objects: Path, mark: str) -> dict[str, str]:
    """The emulator's whole environment. The Lambdas inherit it, so nothing of the caller's gets in."""
    return {
        "PATH": f"{programs}{os.pathsep}{os.defpath}",
        "HOME": str(scratch),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "TMPDIR": str(scratch),
        MARK: mark,
        "GATEWAY_PORT": str(port),
        "BIND_HOST": HOST,
        "MINISTACK_HOST": HOST,
        "MINISTACK_REGION": REGION,
        "LOG_LEVEL": "INFO",
        "LAMBDA_EXECUTOR": "local",
        # Lambda environments stay warm for as long as a person may look away.
        "LAMBDA_WARM_TTL_SECONDS": "3600",
        # What is never used here, and would open ports or touch Docker.
        "SFTP_ENABLED": "0",
        "IOT_MTLS_ENABLED": "0",
        "DOCKER_HOST": "unix:///nonexistent",
        "S3_DATA_DIR": str(objects),
        "S3_PERSIST": "1",
        "STATE_DIR": str(scratch / "state"),
    }


def _wait_until_ready(emulator: Emulator, log: Path, log_start: int) -> None:
    give_up_at = time.monotonic() + _START_TIMEOUT_SECONDS
    with httpx.Client(base_url=emulator.endpoint, trust_env=False, timeout=5) as http:
        while time.monotonic() < give_up_at:
            running = emulator.process.find()
            if running is None:
                _explain_end(log, log_start)
            if running is not None and _answers(http) and _listens(running, emulator.port):
                return
            time.sleep(0.05)
    raise LocalCloudError(f"The emulator did not answer within {_START_TIMEOUT_SECONDS} s; its log is {log}.")


def _explain_end(log: Path, log_start: int) -> None:
    tail = log.read_bytes()[log_start:].decode(errors="replace")[-2000:]
    if "already in use" in tail:
        raise _PortTakenError
    raise LocalCloudError(f"The emulator ended at once. {log}:\n{tail}")


def _answers(http: httpx.Client) -> bool:
    try:
        return http.get("/_ministack/ready").status_code == 200
    except httpx.TransportError:
        return False


def _listens(process: psutil.Process, port: int) -> bool:
    """Whether it is this process that answers at the port, not another that was faster."""
    try:
        return any(c.laddr.port == port and c.status == psutil.CONN_LISTEN for c in process.net_connections("tcp"))
    except psutil.AccessDenied:
        return True
