"""Recovery: one query on ``wake_at`` finds every kind of stuck run.

Each transition of a run also writes when somebody must look again if nothing happens, so a lost message, a crash
between commit and send, a dead worker and a far-off retry all come up here. The decisions are in ``domain.recovery``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from random import SystemRandom
from uuid import UUID

from hourbell.domain import recovery as rules
from hourbell.domain.recovery import Verdict, Wakeful
from hourbell.domain.retry import parse_retry_policy
from hourbell.domain.run_state import QUEUES, Lane, RunState, lane_for
from hourbell.lanes.messages import LaneMessage
from hourbell.lanes.sqs import Lanes
from hourbell.services.admit_backfill import admit_backfill
from hourbell.services.dispatch_runs import dispatch_runs
from hourbell.store import recovery
from hourbell.store.connection import Connection, Database
from hourbell.store.executions import FreedRun
from hourbell.store.recovery import Recovery, WakefulRun

logger = logging.getLogger(__name__)

# Jitter. From the system: environments restored from one snapshot must not all draw the same numbers.
_random = SystemRandom().random

BATCH = 1_000

_SLOT_REASONS = ("no_slot", "slot_offered")

# A lane in good health always has some messages waiting: up to here they are its traffic, and no backlog that could
# account for an overdue run. So a lost message is found in a busy lane too, for this many needless messages at most.
TRAFFIC = 100

# Overdue runs are counted up to here; more than that is a backlog by any measure.
OVERDUE_LIMIT = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaped:
    """What one look did. ``sent``: messages; ``crashed``: attempts whose worker died; ``dead``: runs."""

    looked_at: int
    sent: int
    backed_off: int
    crashed: int
    dead: int


def reap_runs(
    database: Database,
    lanes: Lanes,
    *,
    time_left: Callable[[], bool],
    now: datetime | None = None,
    batch: int = BATCH,
) -> Reaped:
    """Look at every run whose ``wake_at`` has come, batch after batch, until none is left or the time is up.

    ``now`` None: the database's clock.
    """
    total = Reaped(looked_at=0, sent=0, backed_off=0, crashed=0, dead=0)
    shortfall: dict[Lane, int] = {}
    while time_left():
        locked_at, decided, part = database.run(
            lambda connection: _decide_batch(connection, lanes, shortfall, now=now, limit=batch)
        )
        if locked_at is None:
            break
        dispatch_runs(database, lanes, decided, now=locked_at)
        total = _add(total, part)
    if total.looked_at:
        logger.info("reaped", extra={"action": "reap", "runs": total.looked_at, "sent": total.sent})
    return total


def _decide_batch(
    connection: Connection, lanes: Lanes, shortfall: dict[Lane, int], *, now: datetime | None, limit: int
) -> tuple[datetime | None, list[LaneMessage], Reaped]:
    locked = recovery.lock_wakeful_runs(connection, now=now, limit=limit)
    if not locked:
        return None, [], Reaped(looked_at=0, sent=0, backed_off=0, crashed=0, dead=0)
    at = locked[0].now
    runs = admit_backfill(connection, locked, now=at)
    left = dict(shortfall)  # the transaction may be repeated: keep what it does to the count apart
    verdicts = [(run, _decide(connection, lanes, run, left, at)) for run in runs]
    recovery.write_recovered(connection, [_recovery(run, verdict) for run, verdict in verdicts], now=at)
    shortfall.update(left)
    messages = [_message(run, verdict) for run, verdict in verdicts if verdict.send]
    if targets := _targets_with_slots(runs, verdicts):
        offers = recovery.offer_slots(connection, targets, grace=rules.WAKE_GRACE, now=at)
        messages += [_offer(run) for run in offers]
    return at, messages, _summary(verdicts)


def _targets_with_slots(runs: Sequence[WakefulRun], verdicts: Sequence[tuple[WakefulRun, Verdict]]) -> list[UUID]:
    """Targets that somebody waits for, or that a dead worker's run has left."""
    waiting = {run.target_id for run in runs if run.reason in _SLOT_REASONS}
    left = {run.target_id for run, verdict in verdicts if verdict.crashed and run.limited}
    return sorted(waiting | left)


def _offer(run: FreedRun) -> LaneMessage:
    return LaneMessage(
        job_id=run.job_id,
        scheduled_for=run.scheduled_for,
        tenant_id=run.tenant_id,
        lane=Lane(run.lane),
        ready_at=run.next_attempt_at,
    )


def _decide(
    connection: Connection, lanes: Lanes, run: WakefulRun, shortfall: dict[Lane, int], now: datetime
) -> Verdict:
    wakeful = Wakeful(
        state=RunState(run.state),
        next_attempt_at=run.next_attempt_at,
        fire_at=run.fire_at,
        attempt=run.attempt - run.attempts_before,
        wakes=run.wakes,
        retry=parse_retry_policy(run.retry),
        job_deleted=run.job_deleted,
        waits_for_slot=run.reason in _SLOT_REASONS,
        pulled=_lane(run) is Lane.PULL,
    )
    missing = _left_pull(run)
    if rules.is_overdue(wakeful, now) and not missing:
        lane = Lane(run.lane)
        if not shortfall:
            shortfall.update(_shortfall(connection, lanes, now))
        missing = shortfall[lane] > 0
        shortfall[lane] -= missing
    return rules.recover(wakeful, now=now, missing=missing, random=_random())


def _lane(run: WakefulRun) -> Lane:
    """Where it belongs: its job, or its target, may have been given another destination."""
    if Lane.PULL in (run.lane, lane_for(run.timeout_ms, run.target_kind)):
        return lane_for(run.timeout_ms, run.target_kind)
    return Lane(run.lane)


def _left_pull(run: WakefulRun) -> bool:
    """Whether it has no message anywhere, because it used to wait for who pulls it."""
    return run.lane == Lane.PULL and _lane(run) is not Lane.PULL


def _shortfall(connection: Connection, lanes: Lanes, now: datetime) -> dict[Lane, int]:
    """Per lane: overdue runs that no message in the lane can account for."""
    overdue = recovery.count_overdue(connection, before=now - rules.WAKE_GRACE, limit=OVERDUE_LIMIT)
    return {lane: _unaccounted(overdue[lane], lanes.backlog(lane)) if lane in overdue else 0 for lane in QUEUES}


def _unaccounted(overdue: int, waiting: int) -> int:
    return overdue if waiting <= TRAFFIC else max(0, overdue - waiting)


def _recovery(run: WakefulRun, verdict: Verdict) -> Recovery:
    return Recovery(
        job_id=run.job_id,
        scheduled_for=run.scheduled_for,
        state=verdict.state,
        reason=verdict.reason,
        lane=Lane.SOLO if verdict.solo else _lane(run),
        target_id=run.present_target_id if Lane.PULL in (run.lane, _lane(run)) else run.target_id,
        next_attempt_at=verdict.next_attempt_at,
        wake_at=verdict.wake_at,
        wakes=verdict.wakes,
        crashed=verdict.crashed,
    )


def _message(run: WakefulRun, verdict: Verdict) -> LaneMessage:
    return LaneMessage(
        job_id=run.job_id,
        scheduled_for=run.scheduled_for,
        tenant_id=run.tenant_id,
        lane=Lane.SOLO if verdict.solo else _lane(run),
        ready_at=verdict.next_attempt_at,
    )


def _summary(verdicts: Sequence[tuple[WakefulRun, Verdict]]) -> Reaped:
    return Reaped(
        looked_at=len(verdicts),
        sent=sum(verdict.send for _, verdict in verdicts),
        backed_off=sum(verdict.reason == "backlog" for _, verdict in verdicts),
        crashed=sum(verdict.crashed for _, verdict in verdicts),
        dead=sum(verdict.state is RunState.DEAD for _, verdict in verdicts),
    )


def _add(one: Reaped, other: Reaped) -> Reaped:
    return Reaped(
        looked_at=one.looked_at + other.looked_at,
        sent=one.sent + other.sent,
        backed_off=one.backed_off + other.backed_off,
        crashed=one.crashed + other.crashed,
        dead=one.dead + other.dead,
    )
