"""The HTTP client of a worker environment: keep-alive pools, bounded, never redirected, never by way of a proxy.

Every connection is made by ``GuardedBackend``: the name is resolved once, every address of the answer is checked, and
the connection goes to an address that was checked. TLS still sees the name (SNI, certificate), the target its Host
header. A second DNS answer between check and connect cannot matter, because nobody asks for one.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable

import httpcore
import httpx

from hourbell.targets.url_guard import AddressError, check_address

MAX_CONNECTIONS = 100
KEEPALIVE_SECONDS = 60


def make_client(*, private_allowed: bool) -> httpx.AsyncClient:
    """A client that connects only where targets may be.

    ``private_allowed``: whether private and loopback addresses are fine (the local stage).
    """
    context = httpx.create_ssl_context(trust_env=False)
    transport = httpx.AsyncHTTPTransport(verify=context, retries=0)
    # httpx has no parameter for the network backend; the pool is the one place that takes it.
    transport._pool = httpcore.AsyncConnectionPool(
        ssl_context=context,
        max_connections=MAX_CONNECTIONS,
        max_keepalive_connections=MAX_CONNECTIONS,
        keepalive_expiry=KEEPALIVE_SECONDS,
        network_backend=GuardedBackend(private_allowed=private_allowed),
    )
    return httpx.AsyncClient(transport=transport, trust_env=False, follow_redirects=False)


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Resolves, checks, and connects to what was checked; a name with one bad address is refused whole."""

    def __init__(self, *, private_allowed: bool, backend: httpcore.AsyncNetworkBackend | None = None) -> None:
        self._private_allowed = private_allowed
        self._backend = backend or httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address that answers; raises ``httpcore.ConnectError`` with the reason."""
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in await self._addresses(host, port):
            try:
                return await self._backend.connect_tcp(
                    address, port, timeout=timeout, local_address=local_address, socket_options=socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    async def sleep(self, seconds: float) -> None:
        """As the pool asks between its own attempts."""
        await asyncio.sleep(seconds)

    async def _addresses(self, host: str, port: int) -> list[str]:
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
            addresses = [str(entry[4][0]) for entry in found]
            return [str(check_address(address, private_allowed=self._private_allowed)) for address in addresses]
        except OSError as error:
            raise httpcore.ConnectError(f"{host} cannot be resolved: {error}") from error
        except AddressError as error:
            raise httpcore.ConnectError(f"{host} {error}") from error
