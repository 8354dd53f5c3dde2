"""The embedded PostgreSQL: version, restart, a second start, stale files, another's directory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from hourbell.local.errors import LocalCloudError
from hourbell.local.postgres import THROWAWAY_SETTINGS, EmbeddedPostgres, PostgresServer


@pytest.fixture
def cluster() -> Iterator[EmbeddedPostgres]:
    place = Path(tempfile.mkdtemp(prefix="hourbell-"))
    found = EmbeddedPostgres(
        data=place / "data", sockets=place, log=place / "postgres.log", settings=THROWAWAY_SETTINGS
    )
    yield found
    found.remove()


def ask(server: PostgresServer, question: str) -> object:
    with psycopg.connect(server.conninfo()) as connection:
        row = connection.execute(question.encode()).fetchone()
    assert row is not None
    return row[0]


def test_it_is_the_major_version_that_aurora_runs(postgres: PostgresServer):
    assert str(ask(postgres, "show server_version")).startswith("16.")


def test_it_listens_on_no_network_address(postgres: PostgresServer):
    assert ask(postgres, "show listen_addresses") == ""


def test_the_socket_path_is_short_enough_for_the_kernel(postgres: PostgresServer):
    assert len(str(postgres.sockets / ".s.PGSQL.5432")) <= 107


def test_what_was_written_is_there_after_a_restart(cluster: EmbeddedPostgres):
    first = cluster.start()
    with psycopg.connect(first.conninfo()) as connection:
        connection.execute("create table kept as select 7 as seven")
    second = cluster.start()
    assert ask(second, "select seven from kept") == 7
    assert first.process.find() is None


def test_a_stale_pid_file_of_another_process_does_not_matter(cluster: EmbeddedPostgres):
    cluster.start()
    cluster.stop()
    pid_file = cluster.data / "postmaster.pid"
    pid_file.write_text(f"{os.getpid()}\n{cluster.data}\n")
    assert cluster.find() is None
    assert ask(cluster.start(), "select 1") == 1


def test_stopping_what_does_not_run_does_nothing(cluster: EmbeddedPostgres):
    cluster.stop()
    assert cluster.find() is None


def test_a_broken_setting_is_explained_with_the_servers_own_words(cluster: EmbeddedPostgres):
    broken = EmbeddedPostgres(
        data=cluster.data, sockets=cluster.sockets, log=cluster.log, settings={"max_connections": "none"}
    )
    with pytest.raises(LocalCloudError, match="max_connections"):
        broken.start()


def test_a_socket_directory_that_is_a_link_is_refused(cluster: EmbeddedPostgres, tmp_path: Path):
    link = Path(f"{cluster.sockets}-link")
    link.symlink_to(tmp_path)
    planted = EmbeddedPostgres(data=cluster.data, sockets=link, log=cluster.log)
    try:
        with pytest.raises(LocalCloudError, match="belongs to another"):
            planted.start()
    finally:
        link.unlink()


def test_each_test_gets_a_migrated_database_of_its_own(conninfo: str):
    with psycopg.connect(conninfo) as connection:
        assert connection.execute("select count(*) from schema_migration").fetchone() != (0,)
        assert connection.execute("select count(*) from job").fetchone() == (0,)
