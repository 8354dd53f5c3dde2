"""The database as one caller of the API sees it.

Each transaction says first whose it is, for the row policies and for the audit; both end with the transaction. Only the
API does this: ``set_config`` pins a session of RDS Proxy to its client.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from hourbell.store.connection import Begin, Connection, Database
from hourbell.store.sql import query

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who acts, by which key, in which request."""

    tenant_id: UUID
    key_id: UUID
    request_id: str


class TenantDatabase(Database):
    """The transactions of one actor, over the connection of the environment's database."""

    def __init__(self, database: Database, actor: Actor) -> None:
        self._database = database
        self._actor = actor

    def run(self, work: Callable[[Connection], T]) -> T:
        """As ``Database.run``, as this actor."""
        return self.transact(lambda begin: work(begin()))

    def transact(self, work: Callable[[Begin], T]) -> T:
        """As ``Database.transact``, as this actor."""

        def introduced(begin: Begin) -> T:
            known: list[Connection] = []

            def begin_as_actor() -> Connection:
                if not known:
                    known.append(begin())
                    introduce(known[0], self._actor)
                return known[0]

            return work(begin_as_actor)

        return self._database.transact(introduced)

    def close(self) -> None:
        """Close the environment's connection; the next transaction opens a new one."""
        self._database.close()


class JoinedDatabase(Database):
    """One transaction that is under way, for use cases that would each have one of their own."""

    def __init__(self, begin: Begin) -> None:
        self._begin = begin

    def run(self, work: Callable[[Connection], T]) -> T:
        """Do the work inside the transaction; who began it commits it."""
        return work(self._begin())


def introduce(connection: Connection, actor: Actor) -> None:
    """Say whose the present transaction is."""
    values = {"tenant_id": str(actor.tenant_id), "key_id": str(actor.key_id), "request_id": actor.request_id}
    connection.execute(query("introduce"), values)
