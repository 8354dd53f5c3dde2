"""The HTTP target of these tests: what each path answers is the test's choice, and every call is remembered."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[int], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call as it came in; ``at``: when its request line had been read."""

    at: datetime
    headers: Mapping[str, str]
    body: bytes

    @property
    def payload(self) -> Any:
        return json.loads(self.body)

    @property
    def run_id(self) -> str:
        return self.headers["idempotency-key"]

    @property
    def attempt(self) -> int:
        return int(self.headers["hourbell-attempt"])

    @property
    def scheduled_for(self) -> datetime:
        return datetime.fromisoformat(self.headers["hourbell-scheduled-for"])

    @property
    def late_ms(self) -> float:
        return (self.at - self.scheduled_for).total_seconds() * 1000


@dataclass(slots=True)
class Place:
    """One path of the sink. ``gate``: while it is closed, calls get no answer."""

    url: str
    answer: Answer
    gate: threading.Event
    _came: threading.Condition = field(default_factory=threading.Condition)
    _calls: list[Call] = field(default_factory=list)

    def remember(self, call: Call) -> int:
        with self._came:
            self._calls.append(call)
            self._came.notify_all()
            return len(self._calls)

    @property
    def calls(self) -> list[Call]:
        with self._came:
            return list(self._calls)

    def wait(self, count: int = 1, *, seconds: float) -> list[Call]:
        """The calls, as soon as there are this many of them."""
        with self._came:
            came = self._came.wait_for(lambda: len(self._calls) >= count, seconds)
            assert came, f"{len(self._calls)} of {count} calls in {seconds} s"
            return list(self._calls)


class Sink:
    """A server on a free loopback port, inside a ``with`` block."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        self._server = _Server(("127.0.0.1", 0), _handler(self._places))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)

    def __enter__(self) -> Sink:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for place in self._places.values():
            place.gate.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        port: int = self._server.server_address[1]
        return port

    def place(self, name: str, answer: Answer = lambda _: 200, *, closed: bool = False) -> Place:
        """A path of its own. ``answer`` gives the status of the n-th call (1, 2, …)."""
        gate = threading.Event()
        if not closed:
            gate.set()
        place = Place(url=f"http://127.0.0.1:{self.port}/{name}", answer=answer, gate=gate)
        self._places[f"/{name}"] = place
        return place


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def _handler(places: Mapping[str, Place]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def do_POST(self) -> None:
            at = datetime.fromtimestamp(time.time(), UTC)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            place = places[self.path]
            number = place.remember(Call(at=at, headers=headers, body=body))
            place.gate.wait(120)
            self.send_response(place.answer(number))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Stay quiet."""

        def handle(self) -> None:
            with contextlib.suppress(ConnectionError):  # the worker was killed while it waited for this answer
                super().handle()

    return Handler
