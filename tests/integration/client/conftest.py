"""Engines of the shipped test helper, on this run's own server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hourbell.testing import Engine, Server

from tests.seeds import T0


@pytest.fixture(scope="session")
def server(postgres) -> Server:
    return Server(postgres)


@pytest.fixture
def engine(server: Server) -> Iterator[Engine]:
    with server.engine(now=T0) as engine:
        yield engine
