"""Real worker processes, frozen or killed in the middle of a call: another finishes, and only its outcome counts.

The processes run the function's own handler on the test's database, with leases of a second. The receiver lets the test
decide when each call is answered; nothing here waits but for what somebody tells.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

import psycopg
import pytest
from hourbell.lanes.messages import LaneMessage, encode_message
from hourbell.services.reap_runs import reap_runs
from hourbell.store.connection import Database

from tests.seeds import RecordingLanes, Seeder

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 30

_WORK = """
import json, sys
sys.path.insert(0, sys.argv[1])
import handler
print(json.dumps(handler.handler(json.loads(sys.argv[2]), None)))
"""


@dataclass
class Call:
    """A call that the receiver holds until it is told the status. ``left``: the caller hung up before that."""

    headers: dict[str, str]
    status: Queue[int] = field(default_factory=Queue)
    left: threading.Event = field(default_factory=threading.Event)

    def answer(self, status: int) -> None:
        self.status.put(status)


class _Receiver(ThreadingHTTPServer):
    """The target, and all of AWS that a worker asks: its secret."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.calls: Queue[Call] = Queue()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: _Receiver

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if "X-Amz-Target" in self.headers:
            self._reply(200, json.dumps({"SecretString": "a" * 40}))
            return
        call = Call(headers={name.lower(): value for name, value in self.headers.items()})
        threading.Thread(target=self._watch, args=(call,), daemon=True).start()
        self.server.calls.put(call)
        if status := call.status.get():
            self._reply(status, "{}")

    def _watch(self, call: Call) -> None:
        """Nobody sends more on this connection: what can be read is its end."""
        with contextlib.suppress(OSError):
            self.connection.recv(1)
        call.left.set()
        call.status.put(0)

    def _reply(self, status: int, body: str) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body.encode())
        except OSError:
            pass  # the caller is gone
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""


@pytest.fixture
def receiver() -> Iterator[_Receiver]:
    server = _Receiver()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def seed(conninfo: str) -> Iterator[Seeder]:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        yield Seeder(connection)


@pytest.fixture
def database(postgres, database_name) -> Iterator[Database]:
    opened = Database(postgres.conninfo(database=database_name, user="hourbell_scanner"))
    yield opened
    opened.close()


Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(postgres, database_name, receiver: _Receiver) -> Iterator[Start]:
    """Start a worker process on one message; ``lane`` is whose worker it is."""
    started: list[subprocess.Popen[str]] = []
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONTZPATH": "",
        "AWS_ENDPOINT_URL": receiver.url,
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "HOURBELL_STAGE": "test",
        "HOURBELL_DATABASE": postgres.conninfo(database=database_name, user="hourbell_worker"),
        "HOURBELL_DATABASE_AUTH": "none",
        "HOURBELL_LANE_SHARED_URL": f"{receiver.url}/123456789012/shared",
        "HOURBELL_LANE_SOLO_URL": f"{receiver.url}/123456789012/solo",
        "HOURBELL_HOLD_SECONDS": "0",
        "HOURBELL_SIGNING_SECRET": "signing",
        "HOURBELL_PRIVATE_TARGETS": "allow",
        "HOURBELL_ALLOWED_TARGETS": "",
        "HOURBELL_LEASE_SECONDS": "1",
        "HOURBELL_HEARTBEAT_SECONDS": "0.2",
        "HOURBELL_VISIBILITY_SECONDS": "720",
    }

    def start(message: LaneMessage, *, lane: str = "shared") -> subprocess.Popen[str]:
        event = {"Records": [{"messageId": "m", "receiptHandle": "r", "body": encode_message(message)}]}
        process = subprocess.Popen(
            [sys.executable, "-c", _WORK, str(ROOT / "functions" / "worker"), json.dumps(event)],
            env={**environment, "HOURBELL_LANE": lane},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()  # a frozen one too
        process.communicate()


def ring(seed: Seeder, receiver: _Receiver) -> LaneMessage:
    """A run that is due now, on the receiver."""
    seed.rows("update target set config = jsonb_build_object('url', %s::text) returning 1", f"{receiver.url}/hook")
    retry = json.dumps({"max_attempts": 3, "backoff": "fixed", "initial": "PT0.1S", "maximum": "PT0.1S"})
    at = datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=1)
    return seed.run(seed.job(retry=retry), at)


def next_call(receiver: _Receiver) -> Call:
    return receiver.calls.get(timeout=PATIENCE_SECONDS)


def until_taken_over(database: Database, lanes: RecordingLanes) -> LaneMessage:
    """Reap until the lease has ended, as the reaper's ticks do; the message of the next attempt, due at once."""
    until = datetime.now(UTC) + timedelta(seconds=PATIENCE_SECONDS)
    while not reap_runs(database, lanes, time_left=lambda: True).crashed:
        assert datetime.now(UTC) < until
    (message,) = lanes.take()
    return message


def finished(process: subprocess.Popen[str]) -> Any:
    output, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, errors
    return json.loads(output.splitlines()[-1]), errors


def history(seed: Seeder) -> tuple[list[Any], list[Any]]:
    runs = seed.rows("select state, reason, attempt, lane, error, lease_token, finished_at from run")
    attempts = seed.rows("select number, outcome, status_code, error, finished_at from attempt order by number")
    return runs, attempts


def test_what_a_worker_writes_that_was_frozen_past_its_lease_does_not_count(
    seed: Seeder, database: Database, receiver: _Receiver, start: Start
):
    lanes = RecordingLanes()
    frozen = start(ring(seed, receiver))
    first = next_call(receiver)
    frozen.send_signal(signal.SIGSTOP)

    message = until_taken_over(database, lanes)
    other = start(message, lane="solo")
    second = next_call(receiver)
    second.answer(200)
    finished(other)
    before = history(seed)
    first.answer(410)  # it would let the run die, and pause the job
    frozen.send_signal(signal.SIGCONT)
    reply, _ = finished(frozen)

    assert history(seed) == before
    (run,), attempts = before
    assert run[:4] == ("succeeded", None, 2, "solo")
    assert [attempt[:3] for attempt in attempts] == [(1, "crashed", None), (2, "succeeded", 200)]
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert first.headers["hourbell-lease-token"] != second.headers["hourbell-lease-token"]
    assert reply == {"batchItemFailures": []}  # its message is done with
    assert seed.rows("select state from job") == [("active",)]
    assert seed.rows("select * from event_outbox") == []


def test_a_worker_that_loses_its_lease_hangs_up(seed: Seeder, receiver: _Receiver, start: Start):
    worker = start(ring(seed, receiver))
    call = next_call(receiver)
    seed.rows("update run set lease_token = gen_random_uuid() returning 1")  # somebody else has it now

    assert call.left.wait(PATIENCE_SECONDS)

    assert finished(worker)[0] == {"batchItemFailures": []}
    assert seed.rows("select state, attempt from run") == [("running", 1)]


def test_the_run_of_a_worker_that_was_killed_in_its_call_goes_on_in_the_solo_lane(
    seed: Seeder, database: Database, receiver: _Receiver, start: Start
):
    lanes = RecordingLanes()
    killed = start(ring(seed, receiver))
    first = next_call(receiver)
    killed.kill()
    killed.wait(PATIENCE_SECONDS)

    message = until_taken_over(database, lanes)

    assert message.lane == "solo"
    assert seed.rows("select state, lane from run") == [("retrying", "solo")]
    assert seed.rows("select number, outcome from attempt") == [(1, "crashed")]
    other = start(message, lane="solo")
    second = next_call(receiver)
    second.answer(200)
    finished(other)
    (run,), attempts = history(seed)
    assert run[:4] == ("succeeded", None, 2, "solo")
    assert [attempt[:2] for attempt in attempts] == [(1, "crashed"), (2, "succeeded")]
    assert (first.headers["hourbell-attempt"], second.headers["hourbell-attempt"]) == ("1", "2")
