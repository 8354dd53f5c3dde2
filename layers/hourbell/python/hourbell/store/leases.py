"""The lease of a shard range: which scanner works on it.

Correctness does not hang on it (SKIP LOCKED and the run's primary key keep two scanners apart); it keeps them from
reading past each other's locks, and it makes a dead scanner's range free again after ``TTL``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

from hourbell.store.connection import Connection
from hourbell.store.sql import query

TTL = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardLease:
    """A held lease. ``token`` grows with each new owner; ``now`` is the database's clock at that moment."""

    first_shard: int
    last_shard: int
    owner: str
    token: int
    now: datetime


def take_shard_lease(
    connection: Connection, *, first_shard: int, last_shard: int, owner: str, now: datetime | None
) -> ShardLease | None:
    """Take or renew the lease; None while another owner holds it. ``now`` None: the database's clock."""
    row = connection.execute(
        query("take_shard_lease"),
        {"first_shard": first_shard, "last_shard": last_shard, "owner": owner, "ttl": TTL, "now": now},
    ).fetchone()
    if row is None:
        return None
    token, at = cast("tuple[int, datetime]", row)
    return ShardLease(first_shard=first_shard, last_shard=last_shard, owner=owner, token=token, now=at)


def release_shard_lease(connection: Connection, lease: ShardLease) -> None:
    """Give the lease back; nothing happens when it was lost meanwhile."""
    connection.execute(
        query("release_shard_lease"),
        {
            "first_shard": lease.first_shard,
            "last_shard": lease.last_shard,
            "owner": lease.owner,
            "token": lease.token,
        },
    )
