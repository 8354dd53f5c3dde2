"""The HTTP API without a network: a request becomes the event that API Gateway would make of it."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import httpx

from hourbell.api.app import Application
from hourbell.services.authenticate import authenticate
from hourbell.store.connection import Database


@dataclass(frozen=True, slots=True)
class ApplicationTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Calls the API in this process, its authorizer included; for ``Client`` and ``AsyncClient`` alike."""

    application: Application
    authorizer: Database
    clock: Callable[[], datetime]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request."""
        return self._answer(request, request.read())

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request; the database is waited for."""
        return self._answer(request, await request.aread())

    def _answer(self, request: httpx.Request, body: bytes) -> httpx.Response:
        caller = authenticate(self.authorizer, request.headers.get("authorization"), now=self.clock())
        context = {} if caller is None else caller.context()
        reply = self.application.handle(_event(request, body, context), None, now=self.clock())
        content = base64.b64decode(reply["body"]) if reply["isBase64Encoded"] else reply["body"].encode()
        return httpx.Response(reply["statusCode"], headers=reply["headers"], content=content)


def _event(request: httpx.Request, body: bytes, context: dict[str, str]) -> dict[str, Any]:
    """Payload format 2.0 ("Working with AWS Lambda proxy integrations for HTTP APIs")."""
    path = request.url.raw_path.decode("ascii").partition("?")[0]
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": "ANY /{proxy+}",
        "rawPath": path,
        "rawQueryString": request.url.query.decode("ascii"),
        "headers": dict(request.headers),
        "requestContext": {
            "http": {"method": request.method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1"},
            "stage": "$default",
            "authorizer": {"lambda": context},
        },
        "isBase64Encoded": False,
    }
    if body:
        event["body"] = body.decode()
    return event
