"""Day partitions of ``run`` and ``attempt``, made ahead of time."""

from __future__ import annotations

from datetime import date, timedelta
from typing import cast

from hourbell.store.connection import Connection
from hourbell.store.sql import query

DAYS_AHEAD = 7


def make_partitions(connection: Connection, *, today: date, days_ahead: int = DAYS_AHEAD) -> int:
    """Make the partitions of today (UTC) and the days after it; answer how many days were missing."""
    (value,) = connection.execute(
        query("make_day_partitions"), {"first": today, "last": today + timedelta(days=days_ahead)}
    ).fetchone() or (None,)
    return cast("int", value)
