"""The Lambda authorizer of the HTTP API. Event: request authorizer, payload format 2.0; simple responses.

A request without a valid key is let through without a tenant, and the API answers it with 401: an HTTP API turns
``isAuthorized: false`` into 403.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

from hourbell.environment import make_database
from hourbell.observability import configure_logging
from hourbell.services.authenticate import authenticate
from hourbell.settings import AuthorizerSettings
from hourbell.store.connection import Database


@cache
def database() -> Database:
    configure_logging()
    return make_database(AuthorizerSettings.from_env())


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
    caller = authenticate(database(), headers.get("authorization"), now=datetime.now(UTC))
    return {"isAuthorized": True, "context": {} if caller is None else caller.context()}
