"""One scan: under the lease of its shard range, claim and send until nothing is due inside the horizon.

    lease ──▶ claim (one transaction) ──▶ send ──▶ again … ──▶ reap ──▶ release

The first claim is a small one, to learn who is there: a tenant that had its share of it waits for the others
(``domain.fairness``), and what both claims made is sent together, tenants taking turns.

The lease is renewed in the transaction of each claim, so a scanner that lost it claims nothing more. A second tick for
the same range finds the lease held and exits quietly. After a crash the lease runs out, and the next scanner goes on
from the oldest due row.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from hourbell.domain.fairness import LOOK_AHEAD_CLAIMS, Turns
from hourbell.lanes.messages import LaneMessage
from hourbell.lanes.sqs import Lanes
from hourbell.services.claim_due import Claim, claim_shards
from hourbell.services.dispatch_runs import dispatch_runs
from hourbell.store.connection import Connection, Database
from hourbell.store.leases import ShardLease, release_shard_lease, take_shard_lease

logger = logging.getLogger(__name__)

# Due rows per claim, about: enough to make the round trips cheap, few enough to commit well within a second.
BATCH = 4_096
FIRST_BATCH = 256
_GROWTH = 4


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
    scan = _Scan(database, lanes, shards, owner=owner, horizon=horizon, now=now, batch=batch)
    drained = False
    while time_left():
        drained = not scan.claim()
        if drained:
            break
    return scan.finish(drained=drained)


class _Scan:
    """The claims of one scan, and whose turn it is."""

    def __init__(
        self,
        database: Database,
        lanes: Lanes,
        shards: ScanRange,
        *,
        owner: str,
        horizon: timedelta,
        now: datetime | None,
        batch: int,
    ) -> None:
        self._database, self._lanes, self._batch = database, lanes, batch
        shard_count = shards.last_shard - shards.first_shard + 1
        self._first_per_shard = max(1, min(batch, FIRST_BATCH) // shard_count)
        self._full_per_shard = max(1, batch // shard_count)
        self._claim_under_lease = partial(
            _claim_under_lease,
            shards=shards,
            owner=owner,
            horizon=horizon,
            now=now,
            look_ahead=self._full_per_shard * LOOK_AHEAD_CLAIMS,
        )
        # Few rows at first, also past a backlog: each tenant with one comes to light in a claim of its own.
        self._per_shard = self._per_shard_past = self._first_per_shard
        self._turns = Turns()
        self._lease: ShardLease | None = None
        self._unsent: list[LaneMessage] = []
        self._total = Scanned()

    def claim(self) -> bool:
        """Claim and send once; False when there is nothing more to claim, or another scanner has the range."""
        past = self._turns.waiting
        per_shard = self._per_shard_past if past else self._per_shard
        claimed = self._database.run(partial(self._claim_under_lease, per_shard=per_shard, past=past))
        if claimed is None:
            self._total = replace(self._total, held_elsewhere=self._lease is None)
            return False
        self._lease, claim = claimed
        if not claim.rows and not past:
            return False
        self._turns.note(claim.had, drained=claim.rows < per_shard)
        self._total = _add(self._total, claim)
        self._unsent += claim.messages
        if past or not self._turns.waiting:  # otherwise those who wait less are claimed first, and sent along
            self._send(self._lease)
        if not past:
            self._per_shard = _widen(per_shard, claim.rows, self._batch)
        elif self._turns.waiting:
            self._per_shard_past = min(per_shard * _GROWTH, self._full_per_shard)
        else:
            self._per_shard_past = self._first_per_shard
        return True

    def finish(self, *, drained: bool) -> Scanned:
        """Send what was claimed and give the range back."""
        if self._lease is not None:
            lease = self._lease
            self._send(lease)
            self._database.run(lambda connection: release_shard_lease(connection, lease))
        return replace(self._total, drained=drained)

    def _send(self, lease: ShardLease) -> None:
        unsent = dispatch_runs(self._database, self._lanes, self._unsent, now=lease.now)
        self._total = replace(self._total, unsent=self._total.unsent + unsent)
        self._unsent = []


def _claim_under_lease(
    connection: Connection,
    *,
    shards: ScanRange,
    owner: str,
    horizon: timedelta,
    now: datetime | None,
    per_shard: int,
    past: Sequence[UUID],
    look_ahead: int,
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
        past=past,
        look_ahead=look_ahead,
    )
    return lease, claim


def _widen(per_shard: int, rows: int, batch: int) -> int:
    """More rows per shard at first, and while few shards hold all that is due: a claim stays worth its round trips."""
    return min(per_shard * _GROWTH, batch) if rows < batch // 2 else per_shard


def _add(total: Scanned, claim: Claim) -> Scanned:
    return replace(
        total,
        claimed_jobs=total.claimed_jobs + claim.rows,
        runs=total.runs + len(claim.messages),
        broken=total.broken + claim.broken,
    )
