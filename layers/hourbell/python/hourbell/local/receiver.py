"""A small HTTP target for this machine: it answers 200 and remembers when each call came.

To watch calls come in: ``python -m hourbell.local.receiver``.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from hourbell.local.project import HOST

RECEIVER_PORT = 8765


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
    """Listens on a loopback port inside a ``with`` block.

    Args:
        port: 0 takes a free one.
        tell: hears of each call as it comes, on the call's own thread.
    """

    def __init__(self, port: int = 0, *, tell: Callable[[Call], None] | None = None) -> None:
        self._calls: list[Call] = []
        self._lock = threading.Lock()
        self._tell = tell
        self._server = _Server((HOST, port), _handler(self._remember))
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
        if self._tell is not None:
            self._tell(call)


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


def _describe(call: Call) -> str:
    lateness = call.lateness_ms
    late = "" if lateness is None else f", {lateness:.0f} ms late"
    attempt = call.headers.get("hourbell-attempt", "?")
    body = call.body.decode(errors="replace")
    return f"{call.received_at:%H:%M:%S.%f} {call.path} {call.run_id} attempt {attempt}{late}: {body}"


def main() -> None:
    """Print each call until interrupted."""
    port = int(sys.argv[1]) if len(sys.argv) > 1 else RECEIVER_PORT
    with Receiver(port, tell=lambda call: print(_describe(call), flush=True)) as receiver:
        print(f"Listening on {receiver.url}/", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
