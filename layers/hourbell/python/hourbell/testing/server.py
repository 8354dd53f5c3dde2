"""A PostgreSQL for a whole test session, and a fresh, migrated database in it for each engine."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime

import psycopg
from psycopg import sql

from hourbell.local.postgres import PostgresServer, throwaway_postgres
from hourbell.store.bootstrap import bootstrap
from hourbell.store.migrate import migrate
from hourbell.testing import clock
from hourbell.testing.engine import AwsClients, Engine, no_aws

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Server:
    """Makes engines on a PostgreSQL server; the first one takes a second or two, each further one a tenth of it."""

    postgres: PostgresServer
    _template: list[str] = field(default_factory=list)

    @contextmanager
    def engine(
        self, *, now: datetime | str, tenant: str = "test", aws_clients: AwsClients = no_aws
    ) -> Iterator[Engine]:
        """An engine of its own: a database with one tenant and nothing else, gone at the end.

        ``aws_clients`` makes the boto3 client of an ``AwsService`` for targets in AWS, for example under moto.
        """
        name = f"hourbell_testing_{next(_numbers)}"
        with ExitStack() as stack:
            stack.enter_context(self._database(name))
            engine = Engine(self.postgres, name, now=now, tenant=tenant, aws_clients=aws_clients)
            stack.callback(engine.close)
            yield engine

    @contextmanager
    def _database(self, name: str) -> Iterator[None]:
        if not self._template:
            self._template.append(self._make_template())
        database, template = sql.Identifier(name), sql.Identifier(*self._template)
        with psycopg.connect(self.postgres.conninfo(), autocommit=True) as connection:
            connection.execute(sql.SQL("create database {} template {} strategy file_copy").format(database, template))
            connection.execute(
                sql.SQL("alter database {} set search_path = {}").format(database, sql.SQL(clock.SEARCH_PATH))
            )
            yield
            connection.execute(sql.SQL("drop database {} with (force)").format(database))

    def _make_template(self) -> str:
        name = f"hourbell_testing_{next(_numbers)}"
        with psycopg.connect(self.postgres.conninfo(), autocommit=True) as connection:
            connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        with psycopg.connect(self.postgres.conninfo(database=name), autocommit=True) as connection:
            connection.execute(clock.INSTALL)
            bootstrap(connection)
            migrate(connection)
        return name


@contextmanager
def throwaway_server() -> Iterator[Server]:
    """An embedded PostgreSQL for as long as the tests last."""
    with throwaway_postgres() as postgres:
        yield Server(postgres)
