from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from hourbell.store.connection import Database

from tests.seeds import RecordingLanes, Seeder


@pytest.fixture
def database(conninfo: str) -> Iterator[Database]:
    opened = Database(conninfo)
    yield opened
    opened.close()


@pytest.fixture
def seed(conninfo: str) -> Iterator[Seeder]:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        yield Seeder(connection)


@pytest.fixture
def lanes() -> RecordingLanes:
    return RecordingLanes()
