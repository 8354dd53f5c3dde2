"""An engine of the shipped test helper."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hourbell.testing import Engine, Server

from tests.seeds import T0


@pytest.fixture
def engine(engine_server: Server) -> Iterator[Engine]:
    with engine_server.engine(now=T0) as engine:
        yield engine
