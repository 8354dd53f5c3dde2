"""Pulling: a worker outside fetches the runs of its target, and ends them through the API.

    pull ──▶ target's oldest runs, locked ──judged as at a lane's lease──▶ leased, answered
      ▲          │ none                                                        │
      └──pause───┘                                            heartbeat, complete, fail (``control_runs``)

1. One transaction: lock the oldest runs whose time has come (those that another worker is being given are passed over),
   judge them as they are now, lease what may start. Nobody ever shares a run, however many pull.
2. Nothing there: wait without a connection, and look again, until the caller's patience ends.
3. What nobody pulls just waits. A worker that dies lets its lease end: a crashed attempt, and the run waits again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from hourbell.domain.errors import FieldError, FieldErrors
from hourbell.domain.target_kind import TargetKind
from hourbell.services.still_scheduled import still_scheduled
from hourbell.store import pulls, targets
from hourbell.store.connection import Connection, Database
from hourbell.store.executions import JudgedRun, LeasedRun, Verdict
from hourbell.store.pulls import RunKey

# How long a look that found nothing is from the next.
LOOK_EVERY_SECONDS = 0.5

# Payloads of one reply stay below what Lambda can answer; the last one may pass this by its own size.
PAYLOAD_BYTES = 1_048_576

Pause = Callable[[float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What every look asks. ``now`` None: the database's clock."""

    tenant_id: UUID
    target: str | UUID
    limit: int
    lease: timedelta
    now: datetime | None


def pull_runs(
    database: Database,
    tenant_id: UUID,
    target: str | UUID,
    *,
    wait: timedelta,
    limit: int,
    lease: timedelta,
    pause: Pause = time.sleep,
    now: datetime | None = None,
) -> list[LeasedRun]:
    """Lease up to ``limit`` runs of a target that is pulled, oldest first; wait for the first up to ``wait``.

    Args:
        target: its name or its id.
        pause: waits so many seconds.
        now: None: the database's clock.

    Raises:
        FieldErrors: the tenant has no such target, or it is of another kind.
    """
    look = _Look(tenant_id=tenant_id, target=target, limit=limit, lease=lease, now=now)
    left = wait.total_seconds()
    while True:
        found = database.run(lambda connection: _leased(connection, look))
        if found or left <= 0:
            return found
        database.close()  # whoever waits holds nothing
        seconds = min(LOOK_EVERY_SECONDS, left)
        pause(seconds)
        left -= seconds


def _leased(connection: Connection, look: _Look) -> list[LeasedRun]:
    target_id = _pulled_target(connection, look.tenant_id, look.target)
    if not pulls.has_pullable_runs(connection, look.tenant_id, target_id, now=look.now):
        return []
    waiting = pulls.lock_pullable_runs(
        connection, look.tenant_id, target_id, limit=look.limit, payload_bytes=PAYLOAD_BYTES, now=look.now
    )
    if not waiting:
        return []
    judged = pulls.lease_pulled_runs(connection, target_id, waiting, checked=False, now=look.now, lease=look.lease)
    if kept := _recheck(connection, judged, look.now):
        judged += pulls.lease_pulled_runs(connection, target_id, kept, checked=True, now=look.now, lease=look.lease)
    return sorted((run.leased for run in judged if run.leased is not None), key=lambda run: (run.fire_at, run.job_id))


def _recheck(connection: Connection, judged: Sequence[JudgedRun], now: datetime | None) -> list[RunKey]:
    """Of the runs planned for an older schedule, cancel what the present one no longer has and answer the others."""
    kept: list[RunKey] = []
    stale: list[RunKey] = []
    for run in judged:
        if run.verdict is Verdict.RECHECK:
            (kept if still_scheduled(run) else stale).append(run.key)
    if stale:
        pulls.cancel_rescheduled(connection, stale, now=now)
    return kept


def _pulled_target(connection: Connection, tenant_id: UUID, target: str | UUID) -> UUID:
    target_id = target if isinstance(target, UUID) else targets.find_target_by_name(connection, tenant_id, target)
    stored = None if target_id is None else targets.fetch_target(connection, tenant_id, target_id)
    if stored is None:
        raise FieldErrors([FieldError("target", "there is no such target")])
    if stored.kind != TargetKind.PULL:
        raise FieldErrors([FieldError("target", f"is of kind {stored.kind}, and its runs are not pulled")])
    return stored.target_id
