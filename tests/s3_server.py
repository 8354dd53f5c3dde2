"""S3 over HTTP, as much of it as segments need, that fails as it is told: for the client that the functions really use.

A fault is asked for by name, for so many requests of these methods. Whatever takes long ends when the server is closed,
or after ``PATIENCE_SECONDS``; the answer then is right, so that whoever waited so long is found out.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

PATIENCE_SECONDS = 30
LONG_AGO = "2020-01-01T00:00:00.000Z"

FAULTS = (
    "500",
    "503",
    "hang",
    "trickled head",
    "trickled body",
    "cut in the head",
    "cut in the body",
    "altered on the way",
    "reset before",
    "reset after",
)

_RESET = struct.pack("ii", 1, 0)
_CODES = {"500": "InternalError", "503": "SlowDown"}


@dataclass
class Fault:
    """``times``: how many requests are left that it meets; None: all."""

    name: str
    methods: tuple[str, ...]
    times: int | None = None


class Version(NamedTuple):
    """``body`` None: deleted."""

    name: str
    body: bytes | None


class FaultyS3(ThreadingHTTPServer):
    """``watch`` is called while a request waits for its answer."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.versions: dict[str, list[Version]] = {}
        self.faults: list[Fault] = []
        self.asked: list[str] = []
        self.watch: Callable[[str], None] = lambda _method: None
        self.closing = threading.Event()
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def fail(self, name: str, *methods: str, times: int | None = None) -> None:
        self.faults.append(Fault(name, methods or ("GET", "PUT", "HEAD", "DELETE"), times))

    def fault_of(self, method: str) -> str | None:
        with self.lock:
            self.asked.append(method)
            for fault in self.faults:
                if method in fault.methods and fault.times != 0:
                    fault.times = None if fault.times is None else fault.times - 1
                    return fault.name
        return None

    def put(self, key: str, body: bytes | None) -> Version:
        with self.lock:
            versions = self.versions.setdefault(key, [])
            versions.append(Version(f"v{len(versions)}", body))
            return versions[-1]

    def find(self, key: str, name: str | None) -> Version | None:
        with self.lock:
            found = [one for one in self.versions.get(key, []) if name in (None, one.name)]
        return found[-1] if found and found[-1].body is not None else None

    def handle_error(self, request: object, client_address: object) -> None:
        """Those who hang up are no news."""


@contextlib.contextmanager
def faulty_s3() -> Iterator[FaultyS3]:
    server = FaultyS3()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: FaultyS3
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE_SECONDS

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        sent = self.headers["x-amz-checksum-sha256"]
        assert sent == _checksum(body)
        self._serve(lambda: self._stored(self.server.put(self._key(), body)))

    def do_HEAD(self) -> None:
        self._serve(self._found)

    def do_GET(self) -> None:
        self._serve(self._found)

    def do_DELETE(self) -> None:
        self._serve(lambda: self._stored(self.server.put(self._key(), None), 204))

    def _serve(self, act: Callable[[], tuple[int, dict[str, str], bytes]]) -> None:
        fault = self.server.fault_of(self.command)
        self.server.watch(self.command)
        match fault:
            case "500" | "503":
                self._send(*_problem(int(fault), _CODES[fault]))
            case "reset before":
                self._reset()
            case "hang":
                self.server.closing.wait(PATIENCE_SECONDS)
                self._send(*act())
            case _:
                self._answer(fault, *act())

    def _answer(self, fault: str | None, status: int, headers: dict[str, str], body: bytes) -> None:
        match fault:
            case "reset after":
                self._reset()
            case "altered on the way" if body:
                self._send(status, headers, body[:-1] + bytes([body[-1] ^ 1]))
            case "trickled head":
                self._trickle(b"HTTP/1.1 %d Fine\r\n" % status)
                self._send(status, headers, body)
            case "cut in the head":
                self._cut(b"HTTP/1.1 200")
            case "cut in the body" if body:
                self._head(status, headers, len(body))
                self._cut(body[: len(body) // 2])
            case "trickled body" if body:
                self._head(status, headers, len(body))
                self._trickle(body)
            case _:
                self._send(status, headers, body)

    def _key(self) -> str:
        return unquote(urlsplit(self.path).path).split("/", 2)[2]

    def _stored(self, version: Version, status: int = 200) -> tuple[int, dict[str, str], bytes]:
        return status, {"x-amz-version-id": version.name}, b""

    def _found(self) -> tuple[int, dict[str, str], bytes]:
        query = parse_qs(urlsplit(self.path).query)
        if "list-type" in query:
            return self._listed()
        (name,) = query.get("versionId", [None])
        version = self.server.find(self._key(), name)
        if version is None or version.body is None:
            return _problem(404, "NoSuchKey")
        headers = {"x-amz-version-id": version.name}
        wanted = self.headers.get("Range")
        if wanted is None:
            return 200, {**headers, "x-amz-checksum-sha256": _checksum(version.body)}, version.body
        first, last = (int(one) for one in wanted.removeprefix("bytes=").split("-"))
        size = len(version.body)
        if first >= size:
            return _problem(416, "InvalidRange")
        part = version.body[first : last + 1]
        return 206, {**headers, "Content-Range": f"bytes {first}-{first + len(part) - 1}/{size}"}, part

    def _listed(self) -> tuple[int, dict[str, str], bytes]:
        keys = [key for key in sorted(self.server.versions) if self.server.find(key, None)]
        items = "".join(f"<Contents><Key>{key}</Key><LastModified>{LONG_AGO}</LastModified></Contents>" for key in keys)
        body = f"<ListBucketResult><IsTruncated>false</IsTruncated>{items}</ListBucketResult>"
        return 200, {"Content-Type": "application/xml"}, body.encode()

    def _head(self, status: int, headers: dict[str, str], size: int) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(size))
        self.end_headers()

    def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self._head(status, headers, len(body))
        if self.command != "HEAD":
            self.wfile.write(body)

    def _trickle(self, text: bytes) -> None:
        """Never silent for long, and never done."""
        self.close_connection = True
        for turn in range(PATIENCE_SECONDS * 20):
            self.wfile.write(text[turn : turn + 1])
            if self.server.closing.wait(0.05) or turn == len(text):
                return
        self.wfile.write(text[PATIENCE_SECONDS * 20 :])

    def _cut(self, text: bytes) -> None:
        self.close_connection = True
        self.wfile.write(text)

    def _reset(self) -> None:
        """The connection is gone without a word."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""


def _problem(status: int, code: str) -> tuple[int, dict[str, str], bytes]:
    body = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>as told</Message></Error>'.encode()
    return status, {"Content-Type": "application/xml"}, body


def _checksum(body: bytes) -> str:
    return b64encode(sha256(body).digest()).decode()
