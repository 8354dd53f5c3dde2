"""A small HTTP target for this machine: it answers 200 and remembers when each call came."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from hourbell.local.state import HOST


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call as it came in.

    Attributes:
        received_at: the moment the request line had been read.
        headers: by lower-case name.
    """

    received_at: datetime
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def run_id(self) -> str:
        """The run that this call delivers: the same on every attempt."""
        return self.headers.get("idempotency-key", "")

    @property
    def job_id(self) -> str:
        """The job that rang."""
        return self.headers.get("hourbell-job", "")

    @property
    def scheduled_for(self) -> datetime | None:
        """The occurrence, or None when the caller is no Hourbell."""
        try:
            return datetime.fromisoformat(self.headers["hourbell-scheduled-for"])
        except (KeyError, ValueError):
            return None

    @property
    def lateness_ms(self) -> float | None:
        """How long after its occurrence it came."""
        occurrence = self.scheduled_for
        return None if occurrence is None else (self.received_at - occurrence).total_seconds() * 1000


class Receiver:
    """Listens on a free loopback port inside a ``with`` block."""

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self._lock = threading.Lock()
        self._server = _Server((HOST, 0), _handler(self._remember))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{HOST}:{self._server.server_address[1]}"

    def calls(self) -> list[Call]:
        """All calls so far, in the order they came."""
        with self._lock:
            return list(self._calls)

    def _remember(self, call: Call) -> None:
        with self._lock:
            self._calls.append(call)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # A whole batch of workers may connect at the same millisecond.
    request_queue_size = 512


def _handler(remember: Callable[[Call], None]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # An idle keep-alive connection must not keep a thread for ever.
        timeout = 60

        def do_POST(self) -> None:
            received_at = datetime.fromtimestamp(time.time(), UTC)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            remember(Call(received_at=received_at, path=self.path, headers=headers, body=body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Stay quiet."""

    return Handler
