"""One scan: under the lease of its shard range, claim and send until nothing is due inside the horizon.

    lease ──▶ claim (one transaction) ──▶ send ──▶ again … ──▶ reap ──▶ release

The lease is renewed in the transaction of each claim, so a scanner that lost it claims nothing more. A second tick for
the same range finds the lease held and exits quietly. After a crash the lease runs out, and the next scanner goes on
from the oldest due row.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from hourbell.lanes.sqs import Lanes
from hourbell.services.claim_due import Claim, claim_shards
from hourbell.services.dispatch_runs import dispatch_runs
from hourbell.store.connection import Connection, Database
from hourbell.store.leases import ShardLease, release_shard_lease, take_shard_lease

logger = logging.getLogger(__name__)

# Due rows per claim, about: enough to make the round trips cheap, few enough to commit well within a second.
BATCH = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRange:
    """Shards ``first_shard`` … ``last_shard``, both included."""

    first_shard: int
    last_shard: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """What one scan did. ``held_elsewhere``: another scanner has the range."""

    claimed_jobs: int = 0
    runs: int = 0
    unsent: int = 0
    broken: int = 0
    held_elsewhere: bool = False
    drained: bool = True


def scan_shards(
    database: Database,
    lanes: Lanes,
    shards: ScanRange,
    *,
    owner: str,
    horizon: timedelta,
    time_left: Callable[[], bool],
    now: datetime | None = None,
    batch: int = BATCH,
) -> Scanned:
    """Scan one shard range until nothing is due inside the horizon or the time is up.

    ``now`` None: the database's clock decides what is due. ``owner`` must be unique per invocation.
    """
    per_shard = max(8, batch // (shards.last_shard - shards.first_shard + 1))
    total = Scanned()
    lease: ShardLease | None = None
    while time_left():
        work = partial(_claim_under_lease, shards=shards, owner=owner, horizon=horizon, now=now, per_shard=per_shard)
        claimed = database.run(work)
        if claimed is None:
            return Scanned(held_elsewhere=True) if lease is None else total
        lease, claim = claimed
        if not claim.rows:
            break
        total = _add(total, claim, unsent=dispatch_runs(database, lanes, claim.messages, now=lease.now))
        per_shard = _widen(per_shard, claim.rows, batch)
    else:
        total = _undrained(total)
    if lease is not None:
        held = lease
        database.run(lambda connection: release_shard_lease(connection, held))
    return total


def _claim_under_lease(
    connection: Connection,
    *,
    shards: ScanRange,
    owner: str,
    horizon: timedelta,
    now: datetime | None,
    per_shard: int,
) -> tuple[ShardLease, Claim] | None:
    lease = take_shard_lease(
        connection, first_shard=shards.first_shard, last_shard=shards.last_shard, owner=owner, now=now
    )
    if lease is None:
        return None
    claim = claim_shards(
        connection,
        first_shard=shards.first_shard,
        last_shard=shards.last_shard,
        now=lease.now,
        horizon=horizon,
        per_shard=per_shard,
    )
    return lease, claim


def _widen(per_shard: int, rows: int, batch: int) -> int:
    """More rows per shard while few shards hold all that is due, so that a claim stays worth its round trips."""
    return min(per_shard * 2, batch) if rows < batch // 2 else per_shard


def _add(total: Scanned, claim: Claim, *, unsent: int) -> Scanned:
    return Scanned(
        claimed_jobs=total.claimed_jobs + claim.rows,
        runs=total.runs + len(claim.messages),
        unsent=total.unsent + unsent,
        broken=total.broken + claim.broken,
    )


def _undrained(total: Scanned) -> Scanned:
    return Scanned(
        claimed_jobs=total.claimed_jobs,
        runs=total.runs,
        unsent=total.unsent,
        broken=total.broken,
        drained=False,
    )
