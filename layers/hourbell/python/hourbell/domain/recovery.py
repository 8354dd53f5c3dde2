"""What the reaper makes of a run whose ``wake_at`` has come: a pure decision with a reason.

- ``queued`` or ``retrying``, its time still to come (never sent, or a far-off retry): send it.
- ``queued`` or ``retrying``, overdue, and the lane holds messages enough to account for it: back off, since a backlog
  is not a loss.
- ``queued`` or ``retrying``, overdue, and more runs are overdue than the lane holds: send again, longest waiting
  first, as many as are missing.
- waiting for a worker of its target to pull it: wait on, however long.
- waiting for a slot of its target: wait on; free slots are offered to the longest waiting, whoever woke.
- ``running``, the lease ended without an outcome (the worker died): retry in the solo lane, or dead.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from hourbell.domain.outcome import AttemptOutcome, AttemptResult, decide
from hourbell.domain.retry import RetryPolicy
from hourbell.domain.run_state import RunState

# How long after a run should have started the reaper asks what became of it.
WAKE_GRACE = timedelta(seconds=30)

# How long a run waits for a slot before somebody looks whether one is free that nobody offered.
SLOT_PATIENCE = timedelta(seconds=60)

# Longest pause between two looks at a run that waits in a backlog.
BACKOFF_MAX = timedelta(minutes=32)

# A retry within this time is sent through a lane; a later one waits for the reaper, which looks every minute.
RETRY_IN_LANE = timedelta(seconds=840)

# The reaper is woken this much before a far-off retry, so that its message is under way in time.
WAKE_EARLY = timedelta(seconds=90)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wakeful:
    """A run the reaper looks at."""

    state: RunState
    next_attempt_at: datetime
    fire_at: datetime
    attempt: int
    wakes: int
    retry: RetryPolicy
    job_deleted: bool
    waits_for_slot: bool = False
    pulled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What becomes of it. ``send``: a message goes out; ``solo``: from now on in the solo lane."""

    state: RunState
    reason: str | None
    next_attempt_at: datetime
    wake_at: datetime | None
    wakes: int
    send: bool
    solo: bool = False
    crashed: bool = False


def is_overdue(run: Wakeful, now: datetime) -> bool:
    """Whether it waits although a worker should have had it by now: its message is lost, or in a backlog."""
    waits = run.waits_for_slot or run.pulled
    return run.state is not RunState.RUNNING and not waits and run.next_attempt_at + WAKE_GRACE <= now


def recover(run: Wakeful, *, now: datetime, missing: bool, random: float) -> Verdict:
    """Decide about one run. ``missing``: an overdue run that the lane's backlog cannot account for."""
    if run.state is RunState.RUNNING:
        return _crashed(run, now, random)
    if run.pulled:
        return _back_off(run, now, random, reason="awaits_worker")
    if run.waits_for_slot:
        return Verdict(
            state=run.state,
            reason="no_slot",
            next_attempt_at=run.next_attempt_at,
            wake_at=now + SLOT_PATIENCE,
            wakes=run.wakes,
            send=False,
        )
    if is_overdue(run, now) and not missing:
        return _back_off(run, now, random, reason="backlog")
    wakes = run.wakes + 1 if is_overdue(run, now) else run.wakes
    return Verdict(
        state=run.state,
        reason=None if run.state is RunState.QUEUED else "resent",
        next_attempt_at=run.next_attempt_at,
        wake_at=max(run.next_attempt_at, now) + _pause(wakes),
        wakes=wakes,
        send=True,
    )


def retry_wake_at(next_attempt_at: datetime, now: datetime) -> datetime:
    """When the reaper looks at a retry: in case its message is lost, or early enough to send a far-off one."""
    if next_attempt_at - now <= RETRY_IN_LANE:
        return next_attempt_at + WAKE_GRACE
    return next_attempt_at - WAKE_EARLY


def _pause(wakes: int) -> timedelta:
    doublings: int = 2 ** min(wakes, 10)
    return min(BACKOFF_MAX, WAKE_GRACE * doublings)


def _back_off(run: Wakeful, now: datetime, random: float, *, reason: str) -> Verdict:
    wakes = min(run.wakes + 1, 100)
    pause = _pause(wakes)
    return Verdict(
        state=run.state,
        reason=reason,
        next_attempt_at=run.next_attempt_at,
        wake_at=now + pause * (0.75 + random / 4),  # spread, so that a backlog is not looked at all at once
        wakes=wakes,
        send=False,
    )


def _crashed(run: Wakeful, now: datetime, random: float) -> Verdict:
    if run.job_deleted:
        return Verdict(
            state=RunState.CANCELLED,
            reason="deleted",
            next_attempt_at=run.next_attempt_at,
            wake_at=None,
            wakes=run.wakes,
            send=False,
            crashed=True,
        )
    result = AttemptResult(outcome=AttemptOutcome.CRASHED, retryable=True)
    decision = decide(result, retry=run.retry, attempt=run.attempt, fire_at=run.fire_at, now=now, random=random)
    again = decision.next_attempt_at
    return Verdict(
        state=decision.state,
        reason=decision.reason,
        next_attempt_at=again or run.next_attempt_at,
        wake_at=None if again is None else retry_wake_at(again, now),
        wakes=0,
        send=again is not None and again - now <= RETRY_IN_LANE and not run.pulled,
        solo=not run.pulled,
        crashed=True,
    )
