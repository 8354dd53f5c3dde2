"""Targets that are Python functions: behind the worker's own HTTP call, signature and all, instead of a network."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias
from urllib.parse import quote

import httpx

from hourbell.receiver import verify

# RFC 6761 keeps .test for tests: no such host can be anybody's.
_HOST = "functions.hourbell.test"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedCall:
    """What the target received in one attempt. ``progress``: as a failed attempt before it reported."""

    target: str
    run_id: str
    job_id: str
    attempt: int
    scheduled_for: datetime
    payload: Any
    progress: Any
    lease_token: str
    headers: Mapping[str, str] = field(repr=False)


Function: TypeAlias = Callable[[ReceivedCall], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answerer:
    target: str
    function: Function
    secret: str


@dataclass(slots=True)
class FunctionTransport(httpx.AsyncBaseTransport):
    """Answers calls of functions, remembers them, and passes on all others."""

    network: httpx.AsyncBaseTransport
    clock: Callable[[], datetime]
    calls: list[ReceivedCall] = field(default_factory=list)
    _answerers: dict[str, _Answerer] = field(default_factory=dict)

    def url(self, target: str) -> str:
        """Where the function of this target is reached."""
        return f"http://{_HOST}/{quote(target, safe='')}"

    def answer(self, target: str, function: Function, *, secret: str) -> None:
        """Let a function answer the calls of a target, which are signed with this secret."""
        self._answerers[self.url(target)] = _Answerer(target=target, function=function, secret=secret)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer 204 for a function that returned, 500 for one that raised, or what it answered itself."""
        answerer = self._answerers.get(str(request.url))
        if answerer is None:
            return await self.network.handle_async_request(request)
        call = self._received(answerer, request)
        self.calls.append(call)
        try:
            return _response(answerer.function(call))
        except Exception as error:  # noqa: BLE001 - whatever it is, the attempt has failed by it
            return httpx.Response(500, text=f"{type(error).__name__}: {error}")

    async def aclose(self) -> None:
        """Close the network."""
        await self.network.aclose()

    def _received(self, answerer: _Answerer, request: httpx.Request) -> ReceivedCall:
        headers = dict(request.headers)
        delivery = verify(headers, request.content, secrets=[answerer.secret], now=self.clock().timestamp())
        return ReceivedCall(
            target=answerer.target,
            run_id=delivery.run_id,
            job_id=delivery.job_id,
            attempt=delivery.attempt,
            scheduled_for=delivery.scheduled_for,
            payload=json.loads(request.content),
            progress=None if delivery.progress is None else json.loads(delivery.progress),
            lease_token=delivery.lease_token,
            headers=headers,
        )


def _response(answer: object) -> httpx.Response:
    if isinstance(answer, httpx.Response):
        return answer
    return httpx.Response(answer if isinstance(answer, int) and not isinstance(answer, bool) else 204)
