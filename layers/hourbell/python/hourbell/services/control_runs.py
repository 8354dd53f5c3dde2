"""Runs in the hands of their targets and owners.

A target that answered 202 with ``Hourbell-Async`` keeps its lease by heartbeats and ends its run itself. What it
writes counts only while its lease token stands, exactly as for a worker. Owners cancel runs, and start ended ones over.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import SystemRandom
from uuid import UUID

from hourbell.domain.ids import run_scheduled_for
from hourbell.domain.limits import LEASE
from hourbell.domain.outcome import AttemptOutcome, AttemptResult, decide
from hourbell.domain.recovery import RETRY_IN_LANE, WAKE_GRACE, retry_wake_at
from hourbell.domain.retry import parse_retry_policy
from hourbell.domain.run_state import Lane, RunState
from hourbell.lanes.messages import LaneMessage
from hourbell.lanes.sqs import Lanes
from hourbell.services.errors import LeaseLostError, NotFoundError, StateError
from hourbell.services.runs import dispatch_quietly
from hourbell.store import recovery, run_control
from hourbell.store.connection import Connection, Database
from hourbell.store.executions import Completion, FreedRun
from hourbell.store.run_control import LockedRun
from hourbell.store.runs_read import RunFilter

# Started over in one call; the reply says when there are more.
REDRIVE_LIMIT = 10_000

REDRIVABLE = (RunState.DEAD, RunState.CANCELLED, RunState.SKIPPED)
_UNFINISHED = (RunState.QUEUED, RunState.RUNNING, RunState.RETRYING)

_random = SystemRandom().random


@dataclass(frozen=True, slots=True, kw_only=True)
class Redriven:
    """``runs``: how many were (or would be) started over; ``more``: whether the limit left some."""

    runs: int
    more: bool


def heartbeat_run(
    database: Database,
    tenant_id: UUID,
    run_id: UUID,
    *,
    token: UUID,
    progress: str | None,
    lease: timedelta = LEASE,
) -> datetime:
    """Extend the lease by a full term; answers its new end. ``progress``: JSON text, handed to the next attempt.

    Raises:
        NotFoundError: the tenant has no such run.
        LeaseLostError: the token does not stand.
    """

    def beat(connection: Connection) -> datetime:
        at = run_scheduled_for(run_id)
        until = run_control.heartbeat_run(
            connection, tenant_id, run_id, scheduled_for=at, token=token, progress=progress, lease=lease
        )
        if until is None:
            _locked(connection, tenant_id, run_id)
            raise LeaseLostError("the lease token does not stand")
        return until

    return database.run(beat)


def complete_run(
    database: Database, lanes: Lanes, tenant_id: UUID, run_id: UUID, *, token: UUID, result: str | None, now: datetime
) -> None:
    """End a run as succeeded. ``result``: JSON text, kept with the run.

    Raises:
        NotFoundError: the tenant has no such run.
        LeaseLostError: the token does not stand.
    """
    outcome = AttemptResult(outcome=AttemptOutcome.SUCCEEDED)
    _end_attempt(database, lanes, tenant_id, run_id, token=token, outcome=outcome, result=result, now=now)


def fail_run(
    database: Database,
    lanes: Lanes,
    tenant_id: UUID,
    run_id: UUID,
    *,
    token: UUID,
    error: str,
    retryable: bool,
    now: datetime,
) -> None:
    """End an attempt as failed; its job's retry policy decides what follows.

    Raises:
        NotFoundError: the tenant has no such run.
        LeaseLostError: the token does not stand.
    """
    outcome = AttemptResult(outcome=AttemptOutcome.FAILED, retryable=retryable, error=error)
    _end_attempt(database, lanes, tenant_id, run_id, token=token, outcome=outcome, result=None, now=now)


def hold_run(database: Database, tenant_id: UUID, run_id: UUID) -> None:
    """Keep others from changing a run until the transaction ends.

    Raises:
        NotFoundError: the tenant has no such run.
    """
    database.run(lambda connection: _locked(connection, tenant_id, run_id))


def cancel_run(database: Database, lanes: Lanes, tenant_id: UUID, run_id: UUID, *, now: datetime) -> None:
    """Cancel a run that has not ended; a worker that has it stops at its next heartbeat.

    Raises:
        NotFoundError: the tenant has no such run.
        StateError: it has ended.
    """

    def cancel(connection: Connection) -> list[LaneMessage]:
        run = _locked(connection, tenant_id, run_id)
        if run.state not in _UNFINISHED:
            raise StateError(f"the run is {run.state}: it has ended")
        run_control.cancel_run(connection, run, now=now)
        return _freed(connection, run, now)

    dispatch_quietly(database, lanes, database.run(cancel), now=now)


def retry_run(database: Database, lanes: Lanes, tenant_id: UUID, run_id: UUID, *, now: datetime) -> None:
    """Start an ended run over: the same run id, a full set of attempts.

    Raises:
        NotFoundError: the tenant has no such run.
        StateError: it has not ended, or succeeded, or its job was deleted.
    """

    def retry(connection: Connection) -> list[LaneMessage]:
        run = _locked(connection, tenant_id, run_id)
        if run.job_deleted:
            raise StateError("the run's job was deleted")
        if run.state not in REDRIVABLE:
            raise StateError(f"the run is {run.state}; {', '.join(REDRIVABLE)} ones can be started over")
        started = run_control.redrive_runs(
            connection, tenant_id, RunFilter(), run_id=run_id, states=REDRIVABLE, grace=WAKE_GRACE, limit=1, now=now
        )
        return [_message(one) for one in started]

    dispatch_quietly(database, lanes, database.run(retry), now=now)


def redrive_runs(
    database: Database, lanes: Lanes, tenant_id: UUID, only: RunFilter, *, state: RunState, dry_run: bool, now: datetime
) -> Redriven:
    """Start over what matches, oldest first, up to ``REDRIVE_LIMIT`` runs. ``dry_run`` only counts."""
    if dry_run:
        count = database.run(
            lambda c: run_control.count_redrivable(c, tenant_id, only, states=[state], limit=REDRIVE_LIMIT + 1)
        )
        return Redriven(runs=min(count, REDRIVE_LIMIT), more=count > REDRIVE_LIMIT)

    def redrive(connection: Connection) -> tuple[list[FreedRun], bool]:
        started = run_control.redrive_runs(
            connection, tenant_id, only, states=[state], grace=WAKE_GRACE, limit=REDRIVE_LIMIT, now=now
        )
        left = run_control.count_redrivable(connection, tenant_id, only, states=[state], limit=1)
        return started, bool(left)

    started, more = database.run(redrive)
    dispatch_quietly(database, lanes, [_message(run) for run in started], now=now)
    return Redriven(runs=len(started), more=more)


def _end_attempt(
    database: Database,
    lanes: Lanes,
    tenant_id: UUID,
    run_id: UUID,
    *,
    token: UUID,
    outcome: AttemptResult,
    result: str | None,
    now: datetime,
) -> None:
    def end(connection: Connection) -> list[LaneMessage]:
        run = _locked(connection, tenant_id, run_id)
        if run.lease_token != token:
            raise LeaseLostError("the lease token does not stand")
        completion = _completion(run, token, outcome, now)
        if not run_control.complete_run(connection, completion, result=result, now=now):
            raise LeaseLostError("the lease token does not stand")
        messages = _freed(connection, run, now) if completion.wake_at is None or run.limited else []
        again = completion.next_attempt_at
        if again is not None and again - now <= RETRY_IN_LANE:
            messages.append(_retry_message(run, again))
        return messages

    dispatch_quietly(database, lanes, database.run(end), now=now)


def _completion(run: LockedRun, token: UUID, outcome: AttemptResult, now: datetime) -> Completion:
    decision = decide(
        outcome,
        retry=parse_retry_policy(run.retry),
        attempt=run.attempt - run.attempts_before,
        fire_at=run.fire_at,
        now=now,
        random=_random(),
    )
    again = decision.next_attempt_at
    return Completion(
        job_id=run.job_id,
        scheduled_for=run.scheduled_for,
        token=token,
        state=decision.state,
        reason=decision.reason,
        error=outcome.error,
        next_attempt_at=again,
        wake_at=None if again is None else retry_wake_at(again, now),
        outcome=outcome.outcome,
        status_code=None,
        duration_ms=None,
    )


def _freed(connection: Connection, run: LockedRun, now: datetime) -> list[LaneMessage]:
    """What waited for this run to end, or for its slot."""
    freed: list[FreedRun] = []
    if run.overlap == "buffer_one":
        freed += run_control.release_buffered(connection, [run.job_id], grace=WAKE_GRACE, now=now)
    if run.limited:
        freed += recovery.offer_slots(connection, [run.target_id], grace=WAKE_GRACE, now=now)
    return [_message(one) for one in freed]


def _locked(connection: Connection, tenant_id: UUID, run_id: UUID) -> LockedRun:
    run = run_control.lock_run(connection, tenant_id, run_id, scheduled_for=run_scheduled_for(run_id))
    if run is None:
        raise NotFoundError("run")
    return run


def _message(run: FreedRun) -> LaneMessage:
    return LaneMessage(
        job_id=run.job_id,
        scheduled_for=run.scheduled_for,
        tenant_id=run.tenant_id,
        lane=Lane(run.lane),
        ready_at=run.next_attempt_at,
    )


def _retry_message(run: LockedRun, at: datetime) -> LaneMessage:
    return LaneMessage(
        job_id=run.job_id,
        scheduled_for=run.scheduled_for,
        tenant_id=run.tenant_id,
        lane=Lane(run.lane),
        ready_at=at,
    )
