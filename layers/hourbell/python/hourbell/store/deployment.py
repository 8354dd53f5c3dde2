"""What the database knows of its deployment."""

from __future__ import annotations

from datetime import date, datetime
from typing import NamedTuple

from hourbell.store.connection import Connection
from hourbell.store.sql import query


class ScannedRange(NamedTuple):
    """A shard range. ``renewed_at``: when a scanner last took it."""

    first_shard: int
    last_shard: int
    renewed_at: datetime | None


class StoredDeployment(NamedTuple):
    """``at``: the database's clock; ``migration``: the latest; ``partitions_through``: the last day with its own."""

    at: datetime
    migration: int | None
    partitions_through: date | None
    scanners: list[ScannedRange]


def inspect_deployment(connection: Connection) -> StoredDeployment:
    """How it stands. Every range that was ever scanned is there."""
    ((found,),) = connection.execute(query("inspect_deployment")).fetchall()
    through = found["partitions_through"]
    return StoredDeployment(
        at=datetime.fromisoformat(found["at"]),
        migration=found["migration"],
        partitions_through=None if through is None else date.fromisoformat(through),
        scanners=[
            ScannedRange(first, last, None if renewed_at is None else datetime.fromisoformat(renewed_at))
            for first, last, renewed_at in found["scanners"] or []
        ],
    )
