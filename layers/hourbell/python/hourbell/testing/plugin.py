"""Fixtures for pytest: ``pytest_plugins = ["hourbell.testing.plugin"]`` in the topmost ``conftest.py``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from hourbell.testing.engine import Engine
from hourbell.testing.server import Server, throwaway_server


@pytest.fixture(scope="session")
def hourbell_server() -> Iterator[Server]:
    """One PostgreSQL for the whole session."""
    with throwaway_server() as server:
        yield server


@pytest.fixture
def hourbell_engine(hourbell_server: Server) -> Iterator[Engine]:
    """A fresh engine for each test. Its clock starts now; set it ahead for fixed dates."""
    with hourbell_server.engine(now=datetime.now(UTC)) as engine:
        yield engine
