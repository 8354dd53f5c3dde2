"""What is done once a day: partitions made ahead, and what nobody asks for any more taken away."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hourbell.store.audit import delete_old_audit
from hourbell.store.connection import Database
from hourbell.store.idempotency import delete_old_requests
from hourbell.store.partitions import make_partitions
from hourbell.store.target_tests import delete_old_tests


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """``days_made``: partitions that were missing; forgotten: answers under keys, changes on record, tests."""

    days_made: int
    requests_forgotten: int
    changes_forgotten: int
    tests_forgotten: int


def keep_house(database: Database, *, now: datetime) -> Kept:
    """Do all of it, each in a transaction of its own; ``database`` is the owner's."""
    return Kept(
        days_made=database.run(lambda connection: make_partitions(connection, today=now.date())),
        changes_forgotten=database.run(lambda connection: delete_old_audit(connection, now=now)),
        tests_forgotten=database.run(lambda connection: delete_old_tests(connection, now=now)),
        requests_forgotten=database.run(lambda connection: delete_old_requests(connection, now=now)),
    )
