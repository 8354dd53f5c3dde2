"""Schema migrations: plain numbered ``.sql`` files, forward only, additive, each applied exactly once.

Migrations run at deploy, before the functions change, so the code of the previous release keeps running
on the new schema: a migration may add, never take away what that release reads or writes.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import psycopg

from hourbell.domain.errors import HourbellError

# One deploy migrates at a time. The number is arbitrary ("hourbell" as a phone keypad), only ours.
ADVISORY_LOCK = 46872355

_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")

_CREATE_LEDGER = """
create table if not exists schema_migration (
    number integer constraint schema_migration_pkey primary key,
    name text not null,
    sha256 text not null,
    applied_at timestamptz not null default clock_timestamp()
)
"""


class MigrationError(HourbellError):
    """The schema in the database is not one that these migrations can continue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One migration file."""

    number: int
    name: str
    sql: bytes

    @property
    def sha256(self) -> str:
        """Fingerprint of the file, recorded when it is applied."""
        return hashlib.sha256(self.sql).hexdigest()


def migrations() -> list[Migration]:
    """All migrations of this release, in order.

    Raises:
        MigrationError: a number is missing or doubled.
    """
    found = []
    for entry in (files(__package__) / "migrations").iterdir():
        match = _NAME.fullmatch(entry.name)
        if match:
            found.append(Migration(number=int(match[1]), name=match[2], sql=entry.read_bytes()))
    found.sort(key=lambda migration: migration.number)
    if [migration.number for migration in found] != list(range(1, len(found) + 1)):
        raise MigrationError("migrations are not numbered 0001, 0002, … without a gap")
    return found


def migrate(connection: psycopg.Connection[tuple[Any, ...]]) -> list[str]:
    """Apply what is missing, all in one transaction, and return the names of what was applied.

    Two deploys at once take turns at the advisory lock; the second finds nothing left to do.

    Raises:
        MigrationError: an applied migration was changed afterwards, or the database is newer than this release.
    """
    applied = []
    with connection.transaction():
        connection.execute("select pg_advisory_xact_lock(%s)", (ADVISORY_LOCK,))
        connection.execute(_CREATE_LEDGER)
        rows = connection.execute("select number, sha256 from schema_migration").fetchall()
        ledger = {int(str(number)): str(sha256) for number, sha256 in rows}
        wanted = migrations()
        _check_ledger(wanted, ledger)
        for migration in wanted:
            if migration.number in ledger:
                continue
            connection.execute(migration.sql)
            connection.execute(
                "insert into schema_migration (number, name, sha256) values (%s, %s, %s)",
                (migration.number, migration.name, migration.sha256),
            )
            applied.append(f"{migration.number:04d}_{migration.name}")
    return applied


def _check_ledger(wanted: list[Migration], ledger: dict[int, str]) -> None:
    known = {migration.number: migration for migration in wanted}
    for number, sha256 in sorted(ledger.items()):
        if number not in known:
            raise MigrationError(f"the database has migration {number:04d}, which this release does not know")
        if known[number].sha256 != sha256:
            raise MigrationError(f"migration {number:04d}_{known[number].name} was changed after it was applied")
