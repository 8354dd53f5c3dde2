"""The pace of targets: locked while a claim gives away their moments."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from hourbell.store.arrays import instant_array, uuid_array
from hourbell.store.connection import Connection
from hourbell.store.sql import query


class PacedTarget(NamedTuple):
    """A locked target with a rate limit. ``tat`` None: nothing was ever sent."""

    target_id: UUID
    rate_per_second: float
    burst: int
    tat: datetime | None


def lock_paced_targets(connection: Connection, target_ids: Collection[UUID]) -> list[PacedTarget]:
    """Lock those of these targets that have a rate limit."""
    rows = connection.execute(query("lock_paced_targets"), {"target_ids": list(target_ids)}).fetchall()
    return [PacedTarget(*row) for row in rows]  # type: ignore[arg-type]


def write_arrival_times(connection: Connection, tats: Mapping[UUID, datetime]) -> None:
    """Move the arrival times of targets that the caller holds locked."""
    ordered = sorted(tats.items())
    connection.execute(
        query("write_arrival_times"),
        {"target_ids": uuid_array([item[0] for item in ordered]), "tats": instant_array([item[1] for item in ordered])},
    )
