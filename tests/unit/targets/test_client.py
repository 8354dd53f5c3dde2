"""The worker's client connects only to addresses that were checked, whatever DNS says next."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import httpcore
import httpx
import pytest
from hourbell.targets.client import GuardedBackend, make_client


class RecordingBackend(httpcore.AsyncMockBackend):
    """Remembers where it was told to connect."""

    def __init__(self) -> None:
        super().__init__([])
        self.connected: list[str] = []

    async def connect_tcp(self, host: str, port: int, **kwargs: Any) -> httpcore.AsyncNetworkStream:
        self.connected.append(host)
        return await super().connect_tcp(host, port, **kwargs)


def connect(monkeypatch: pytest.MonkeyPatch, *answers: list[str], private_allowed: bool = False) -> list[str]:
    """Connect once per DNS answer; the addresses that were connected to."""
    inner = RecordingBackend()
    backend = GuardedBackend(private_allowed=private_allowed, backend=inner)

    async def run() -> None:
        queue = list(answers)

        async def getaddrinfo(host: str, port: int, **kwargs: Any) -> list[Any]:
            addresses = queue.pop(0)
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
        for _ in answers:
            await backend.connect_tcp("sink.example", 443)
        assert queue == []

    asyncio.run(run())
    return inner.connected


def test_the_checked_address_is_the_one_connected_to(monkeypatch: pytest.MonkeyPatch):
    assert connect(monkeypatch, ["93.184.216.34"]) == ["93.184.216.34"]


@pytest.mark.parametrize(
    "address", ["169.254.169.254", "127.0.0.1", "10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "::1"]
)
def test_a_name_that_leads_inside_is_refused(monkeypatch: pytest.MonkeyPatch, address: str):
    with pytest.raises(httpcore.ConnectError, match="sink"):
        connect(monkeypatch, [address])


def test_one_bad_address_among_good_ones_refuses_the_name(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(httpcore.ConnectError):
        connect(monkeypatch, ["93.184.216.34", "::1"])


def test_an_answer_that_changes_is_checked_again_with_the_next_connection(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(httpcore.ConnectError):
        connect(monkeypatch, ["93.184.216.34"], ["169.254.169.254"])


def test_the_local_stage_may_call_loopback_and_never_metadata(monkeypatch: pytest.MonkeyPatch):
    assert connect(monkeypatch, ["127.0.0.1"], private_allowed=True) == ["127.0.0.1"]
    with pytest.raises(httpcore.ConnectError):
        connect(monkeypatch, ["169.254.169.254"], private_allowed=True)


def test_the_real_client_uses_the_guard(monkeypatch: pytest.MonkeyPatch):
    """Through httpx itself, so that a release that moves its pool is noticed here."""

    async def run(private_allowed: bool) -> int:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, make_client(private_allowed=private_allowed) as client:
            return (await client.post(f"http://127.0.0.1:{port}/")).status_code

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    assert asyncio.run(run(private_allowed=True)) == 204
    with pytest.raises(httpx.ConnectError, match="private address"):
        asyncio.run(run(private_allowed=False))
