"""Transactions of whoever holds the freezer's or the loader's lease."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from hourbell.domain.errors import HourbellError
from hourbell.store.cold_leases import Work, release_cold_lease, take_cold_lease
from hourbell.store.connection import Connection, Database

T = TypeVar("T")


class ColdLeaseHeldError(HourbellError):
    """Somebody else holds the lease, or has taken it over: leave the work to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdLease:
    """``owner`` must be unique per invocation; ``now`` None: the database's clock."""

    database: Database
    work: Work
    owner: str
    now: datetime | None

    def run(self, do: Callable[[Connection, datetime], T]) -> T:
        """One transaction under the lease; it may run several times.

        Raises:
            ColdLeaseHeldError: nothing was done.
        """

        def work(connection: Connection) -> T:
            at = take_cold_lease(connection, self.work, owner=self.owner, now=self.now)
            if at is None:
                raise ColdLeaseHeldError(f"{self.work}: somebody else is at it")
            return do(connection, at)

        return self.database.run(work)

    def keep(self) -> None:
        """Renew it, before something that takes time and no transaction.

        Raises:
            ColdLeaseHeldError: somebody else has it.
        """
        self.run(lambda _connection, _at: None)

    @contextmanager
    def released(self) -> Iterator[None]:
        """Give the lease back at the end, also after an error."""
        try:
            yield
        finally:
            self.database.run(lambda connection: release_cold_lease(connection, self.work, owner=self.owner))
