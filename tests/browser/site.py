"""The API of an engine behind a real HTTP port, under a path of its own as the local cloud has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TypeVar

import httpx
from hourbell.testing import Engine, Server

from tests.seeds import T0

PREFIX = "/_aws/execute-api/abc/$default"

T = TypeVar("T")


class Site:
    """An engine that browsers reach. One thread does everything with it, for it is made for one."""

    def __init__(self, engine: Engine, thread: ThreadPoolExecutor, port: int) -> None:
        self._engine = engine
        self._thread = thread
        self.api = f"http://127.0.0.1:{port}{PREFIX}"
        self.console = f"{self.api}/console"
        self.key = engine._api_key
        self.asked: list[str] = []

    def do(self, act: Callable[[Engine], T]) -> T:
        """Do something with the engine, between two requests."""
        return self._thread.submit(act, self._engine).result()

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> httpx.Response:
        self.asked.append(f"{method} {path}")
        headers = {name: value for name, value in headers.items() if name.lower() != "accept-encoding"}
        request = httpx.Request(
            method, "http://hourbell.test" + path.removeprefix(PREFIX), headers=headers, content=body
        )
        return self.do(lambda engine: self._dated(engine, engine._transport.handle_request(request)))

    def _dated(self, engine: Engine, response: httpx.Response) -> httpx.Response:
        response.headers["Date"] = format_datetime(engine.clock.now, usegmt=True)
        return response


class _Handler(BaseHTTPRequestHandler):
    site: Site

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        answer = self.site.answer(self.command, self.path, dict(self.headers), body)
        with suppress(ConnectionError):  # a page that was left does not wait for its answers
            self.send_response_only(answer.status_code)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.content)

    do_GET = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815 - names of the base class

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


@contextmanager
def served(server: Server) -> Iterator[Site]:
    """A site of its own, empty but for its tenant."""
    with ThreadPoolExecutor(1) as thread:
        engines = server.engine(now=T0)
        engine = thread.submit(engines.__enter__).result()
        handler = type("Handler", (_Handler,), {})
        port = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        handler.site = site = Site(engine, thread, port.server_port)
        listener = Thread(target=port.serve_forever)
        listener.start()
        try:
            yield site
        finally:
            port.shutdown()
            listener.join()
            port.server_close()
            thread.submit(engines.__exit__, None, None, None).result()
