"""The two clients: the same operations, sent by a thread that waits or by a coroutine that does."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypedDict, TypeVar

from hourbell.client.operations import Operations
from hourbell.client.retries import Attempts, Retries

if TYPE_CHECKING:
    import httpx

    from hourbell.client.replies import Page
    from hourbell.client.requests import Request

T = TypeVar("T")

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class Client(Operations):
    """One Hourbell, as one tenant sees it.

    Args:
        url: the API's address, without ``/v1``.
        api_key: ``hb_…``.
        timeout_seconds: how long to wait for a connection, and for each answer.
        retries: how often a call is sent again; ``Retries(attempts=1)``: never.
        transport: replaces the network in tests, ``sleep`` and ``random`` the waits between attempts.

    Every call raises ``ApiError`` when the API refuses and ``UnreachableError`` when there is no answer.
    """

    def __init__(
        self,
        url: str,
        api_key: str,
        *,
        timeout_seconds: float = 30,
        retries: Retries = Retries(),  # noqa: B008 - frozen
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], object] = time.sleep,
        random: Callable[[], float] = random.random,
    ) -> None:
        import httpx  # here, so that a command that calls nothing does not wait for it

        self.url = url.rstrip("/")
        self._retries, self._sleep, self._random = retries, sleep, random
        self._http = httpx.Client(transport=transport, **_options(self.url, api_key, timeout_seconds))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def call(self, request: Request[T]) -> T:
        """Carry out a call; the methods stand on it."""
        attempts = Attempts(request, self._retries, self.url, self._random)
        message = _message(self._http, self.url, request)
        while True:
            outcome = self._send(message)
            if not isinstance(outcome, Exception) and attempts.has_succeeded(outcome):
                return request.read(outcome)
            self._sleep(attempts.wait_seconds(outcome))

    def pages(self, request: Request[Page[T]]) -> Iterator[T]:
        """Everything that a list has, page after page."""
        while True:
            page = self.call(request)
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            request = request.from_cursor(page["next_cursor"])

    def _send(self, message: httpx.Request) -> httpx.Response | httpx.TransportError:
        import httpx

        try:
            return self._http.send(message)
        except httpx.TransportError as error:
            return error


class AsyncClient(Operations):
    """``Client`` for asyncio: the same arguments and methods, to be awaited; the iterators with ``async for``."""

    def __init__(
        self,
        url: str,
        api_key: str,
        *,
        timeout_seconds: float = 30,
        retries: Retries = Retries(),  # noqa: B008 - frozen
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[object]] | None = None,
        random: Callable[[], float] = random.random,
    ) -> None:
        import asyncio

        import httpx

        self.url = url.rstrip("/")
        self._retries, self._sleep, self._random = retries, sleep or asyncio.sleep, random
        self._http = httpx.AsyncClient(transport=transport, **_options(self.url, api_key, timeout_seconds))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def call(self, request: Request[T]) -> T:
        """Carry out a call; the methods stand on it."""
        attempts = Attempts(request, self._retries, self.url, self._random)
        message = _message(self._http, self.url, request)
        while True:
            outcome = await self._send(message)
            if not isinstance(outcome, Exception) and attempts.has_succeeded(outcome):
                return request.read(outcome)
            await self._sleep(attempts.wait_seconds(outcome))

    async def pages(self, request: Request[Page[T]]) -> AsyncIterator[T]:
        """Everything that a list has, page after page."""
        while True:
            page = await self.call(request)
            for item in page["items"]:
                yield item
            if page["next_cursor"] is None:
                return
            request = request.from_cursor(page["next_cursor"])

    async def _send(self, message: httpx.Request) -> httpx.Response | httpx.TransportError:
        import httpx

        try:
            return await self._http.send(message)
        except httpx.TransportError as error:
            return error


class _Options(TypedDict):
    headers: dict[str, str]
    timeout: float
    trust_env: bool


def _options(url: str, api_key: str, timeout_seconds: float) -> _Options:
    import httpx

    return {
        "headers": {"Authorization": f"Bearer {api_key}"},
        "timeout": timeout_seconds,
        # No proxy stands between this machine and itself.
        "trust_env": httpx.URL(url).host not in _LOOPBACK,
    }


def _message(http: httpx.Client | httpx.AsyncClient, url: str, request: Request[Any]) -> httpx.Request:
    """Made once, so that every attempt carries the same key."""
    headers = {}
    if request.method == "POST":
        headers["Idempotency-Key"] = str(uuid.uuid4())
    if request.if_version is not None:
        headers["If-Match"] = f'"{request.if_version}"'
    return http.build_request(
        request.method, url + request.target, json=request.body, params=request.parameters, headers=headers
    )
