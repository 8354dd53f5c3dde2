"""The leases of the freezer and the loader: one of each works at a time.

Taken again at the beginning of every transaction that writes, so that one who lost it (a stalled environment, a doubled
tick) writes nothing more. Its row stays locked until that transaction ends: nobody takes over in the middle of one.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal, cast

from hourbell.store.connection import Connection
from hourbell.store.sql import query

# Between two transactions there is a segment to read or to write, from an S3 that may be slow.
TTL = timedelta(seconds=60)

Work = Literal["freeze", "promote"]


def take_cold_lease(connection: Connection, work: Work, *, owner: str, now: datetime | None) -> datetime | None:
    """Take or renew the lease; the time, or None while another owner holds it. ``now`` None: the database's clock."""
    values = {"name": work, "owner": owner, "ttl": TTL, "now": now}
    row = connection.execute(query("take_cold_lease"), values).fetchone()
    return None if row is None else cast("datetime", row[0])


def release_cold_lease(connection: Connection, work: Work, *, owner: str) -> None:
    """Give the lease back; nothing happens when it was lost meanwhile."""
    connection.execute(query("release_cold_lease"), {"name": work, "owner": owner})
