"""A server that was killed is started again over its data, whatever became of its process id."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from hourbell.local.postgres import EmbeddedPostgres


@pytest.fixture
def cluster() -> Iterator[EmbeddedPostgres]:
    place = Path(tempfile.mkdtemp(prefix="hourbell-"))
    cluster = EmbeddedPostgres(data=place / "data", sockets=place, log=place / "postgres.log")
    yield cluster
    cluster.remove()


def test_a_killed_server_starts_again_though_its_id_is_still_there(cluster: EmbeddedPostgres):
    server = cluster.start()
    with psycopg.connect(server.conninfo(), autocommit=True) as connection:
        connection.execute("create table kept as select 1 as one")
    # It stays as this process's zombie: its id is taken, as it is in a container whose first process reaps nobody.
    os.kill(server.process.pid, signal.SIGKILL)

    again = cluster.start()

    with psycopg.connect(again.conninfo()) as connection:
        assert connection.execute("select one from kept").fetchone() == (1,)
