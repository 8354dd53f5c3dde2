"""What the tests share: a real PostgreSQL, a fresh migrated database for each test, the deployed local cloud."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from hourbell.local.postgres import PostgresServer, throwaway_postgres
from hourbell.local.project import Project, StateDirectory
from psycopg import sql

if TYPE_CHECKING:
    from hourbell.local.state import Cloud
    from hourbell.testing import Server

TEMPLATE = "hourbell_template"
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all tests of this run."""
    with throwaway_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def template_database(postgres: PostgresServer) -> str:
    """The name of a database with every migration applied; nobody may be connected to it while it is copied."""
    from hourbell.store.bootstrap import bootstrap
    from hourbell.store.migrate import migrate

    with psycopg.connect(postgres.conninfo(), autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(TEMPLATE)))
    with psycopg.connect(postgres.conninfo(database=TEMPLATE), autocommit=True) as connection:
        bootstrap(connection)
        migrate(connection)
    return TEMPLATE


@pytest.fixture
def database_name(postgres: PostgresServer, template_database: str) -> Iterator[str]:
    """The name of a fresh database for this test."""
    name = sql.Identifier(plain := f"test_{next(_numbers)}")
    template = sql.Identifier(template_database)
    with psycopg.connect(postgres.conninfo(), autocommit=True) as connection:
        connection.execute(sql.SQL("create database {} template {} strategy file_copy").format(name, template))
        yield plain
        connection.execute(sql.SQL("drop database {} with (force)").format(name))


@pytest.fixture
def conninfo(postgres: PostgresServer, database_name: str) -> str:
    """How to connect to this test's database, as its superuser."""
    return postgres.conninfo(database=database_name)


@pytest.fixture(scope="session")
def engine_server(postgres: PostgresServer) -> Server:
    """Makes engines of the shipped test helper."""
    from hourbell.testing import Server

    return Server(postgres)


@pytest.fixture(scope="session")
def local_state() -> Iterator[StateDirectory]:
    """The state directory of the cloud under test: not the checkout's own, which may be in use."""
    state = StateDirectory(path=Path(tempfile.mkdtemp(prefix="hourbell-cloud-")))
    yield state
    shutil.rmtree(state.path, ignore_errors=True)


@pytest.fixture(scope="session")
def local_cloud(local_state: StateDirectory) -> Iterator[Cloud]:
    """The deployed local cloud, brought up for this run and taken down at its end."""
    from hourbell.local.cloud import down, up

    project = Project.find()
    try:
        yield up(project, local_state)
    finally:
        down(project, local_state, purge=True)
