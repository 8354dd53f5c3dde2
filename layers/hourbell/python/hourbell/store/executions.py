"""Leasing, extending and completing attempts: the statements between a delivered message and a recorded outcome.

Invariant: a run changes only under the row lock, and an outcome counts only while the lease token it was given still
stands. ``queued | retrying → running`` is one statement, so a duplicate delivery finds the run taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.rows import namedtuple_row

from hourbell.domain.ids import shard_of
from hourbell.domain.limits import LEASE
from hourbell.store.connection import AsyncConnection
from hourbell.store.sql import query

HEARTBEAT = timedelta(seconds=20)

# How long a run that waits for another one, or for a slot, waits before somebody looks after it.
HOLD_OFF = timedelta(seconds=60)

# The same for a run of a paused target, which is let go by the target's resumption.
PAUSED_HOLD_OFF = timedelta(minutes=10)

# job_id, scheduled_for, whether it was checked against its job's present schedule, the lane whose worker asks
WantedRun = tuple[UUID, datetime, bool, str]


class Verdict(StrEnum):
    """What became of a run that was asked for; as ``lease_runs.sql`` words it."""

    LEASED = "leased"
    # ended, or somebody else has it, or it must be alone and came by the shared lane: a duplicate delivery
    TAKEN = "taken"
    # for whoever pulls the runs of its target, or no longer for who pulls: the reaper puts it where it belongs
    ELSEWHERE = "elsewhere"
    # its time has not come by the database's clock
    EARLY = "early"
    # planned for an older schedule: whether the present one still has it must be looked up
    RECHECK = "recheck"
    # ended here, because the job was paused or deleted, or its target deleted
    PAUSED = "paused"
    DELETED = "deleted"
    NO_TARGET = "no_target"
    # the target is paused: asks again later
    HELD = "held"
    # the job's overlap policy: ended as skipped, or waits for the run before it
    OVERLAP = "overlap"
    BUFFERED = "buffered"
    # the target's concurrency limit: waits until a slot is offered
    NO_SLOT = "no_slot"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasedRun:
    """A run to execute, with its job and target as they were when it was leased."""

    job_id: UUID
    scheduled_for: datetime
    run_id: UUID
    lane: str
    retry: dict[str, Any]
    timeout_ms: int
    target_id: UUID
    target_kind: str
    target_config: dict[str, Any]
    limited: bool
    overlap: str
    payload: str
    attempt: int
    attempts_before: int
    token: UUID
    lease_expires_at: datetime
    progress: Any
    fire_at: datetime
    started_at: datetime

    @property
    def key(self) -> tuple[UUID, datetime]:
        """The run's primary key."""
        return (self.job_id, self.scheduled_for)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """The answer for one run that was asked for. ``remaining``: time until it may start, by the database's clock."""

    job_id: UUID
    scheduled_for: datetime
    run_id: UUID
    verdict: Verdict
    remaining: timedelta
    job_schedule: str
    leased: LeasedRun | None

    @property
    def key(self) -> tuple[UUID, datetime]:
        """The run's primary key."""
        return (self.job_id, self.scheduled_for)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One outcome to record. ``wake_at`` None: the run has ended."""

    job_id: UUID
    scheduled_for: datetime
    token: UUID
    state: str
    reason: str | None
    error: str | None
    next_attempt_at: datetime | None
    wake_at: datetime | None
    outcome: str
    status_code: int | None
    duration_ms: int | None


async def lease_runs(
    connection: AsyncConnection,
    runs: Sequence[WantedRun],
    *,
    now: datetime | None = None,
    lease: timedelta = LEASE,
) -> list[JudgedRun]:
    """Lease what is due of ``runs`` by one statement.

    At most one run of a job may be asked for at once. A run that does not exist is not answered, and neither is one
    that competes with others: those are for ``lease_contended_runs``.
    """
    return await _judge(connection, "lease_runs", wanted_runs(runs, now=now, lease=lease))


async def lease_contended_runs(
    connection: AsyncConnection,
    runs: Sequence[WantedRun],
    *,
    now: datetime | None = None,
    lease: timedelta = LEASE,
) -> list[JudgedRun]:
    """Lease what is due of the few ``runs`` that compete, after another statement has locked what they compete for:
    one that waited for a lock still sees the runs as they were when it began.
    """
    await connection.execute(query("lock_contended"), {"job_ids": [run[0] for run in runs]})
    return await _judge(connection, "lease_contended_runs", wanted_runs(runs, now=now, lease=lease))


async def _judge(connection: AsyncConnection, statement: str, values: dict[str, Any]) -> list[JudgedRun]:
    async with connection.cursor(row_factory=namedtuple_row) as cursor:
        await cursor.execute(query(statement), values)
        return [judged_run(row) for row in await cursor.fetchall()]


def wanted_runs(
    runs: Sequence[WantedRun],
    *,
    now: datetime | None,
    lease: timedelta,
    puller: UUID | None = None,
) -> dict[str, Any]:
    """What both statements that lease are asked. ``puller``: the target whose worker asks; None: a lane's worker."""
    instants = [run[1] for run in runs]
    return {
        "now": now,
        "lease": lease,
        "hold_off": HOLD_OFF,
        "paused_hold_off": PAUSED_HOLD_OFF,
        "puller": puller,
        "job_ids": [run[0] for run in runs],
        "scheduled_for": instants,
        "checked": [run[2] for run in runs],
        "lanes": [run[3] for run in runs],
        "first": min(instants),
        "last": max(instants),
    }


def judged_run(row: Any) -> JudgedRun:
    """One answer of the statements that lease."""
    verdict = Verdict(row.verdict)
    return JudgedRun(
        job_id=row.job_id,
        scheduled_for=row.scheduled_for,
        run_id=row.run_id,
        verdict=verdict,
        remaining=row.remaining,
        job_schedule=row.job_schedule,
        leased=_leased(row) if verdict is Verdict.LEASED else None,
    )


def _leased(row: Any) -> LeasedRun:
    return LeasedRun(
        job_id=row.job_id,
        scheduled_for=row.scheduled_for,
        run_id=row.run_id,
        lane=row.lane,
        retry=row.job_retry,
        timeout_ms=row.job_timeout_ms,
        target_id=row.target_id,
        target_kind=row.target_kind,
        target_config=row.target_config,
        limited=row.max_concurrency is not None,
        overlap=row.job_overlap,
        payload=row.payload,
        attempt=row.attempt,
        attempts_before=row.attempts_before,
        token=row.lease_token,
        lease_expires_at=row.lease_expires_at,
        progress=row.progress,
        fire_at=row.fire_at,
        started_at=row.started_at,
    )


async def extend_leases(
    connection: AsyncConnection,
    runs: Sequence[tuple[UUID, datetime, UUID]],
    *,
    now: datetime | None = None,
    lease: timedelta = LEASE,
) -> set[UUID]:
    """Extend the leases of ``runs`` (job_id, scheduled_for, token); answer the tokens that still stand."""
    cursor = await connection.execute(
        query("extend_leases"),
        {
            "job_ids": [run[0] for run in runs],
            "scheduled_for": [run[1] for run in runs],
            "tokens": [run[2] for run in runs],
            "first": min(run[1] for run in runs),
            "last": max(run[1] for run in runs),
            "now": now,
            "lease": lease,
        },
    )
    return {row[0] for row in await cursor.fetchall()}


async def complete_runs(
    connection: AsyncConnection, completions: Sequence[Completion], *, now: datetime | None = None
) -> set[UUID]:
    """Record outcomes; answer the tokens that counted. A token that is missing came too late."""
    cursor = await connection.execute(query("complete_runs"), completion_columns(completions, now=now))
    return {row[0] for row in await cursor.fetchall()}


def completion_columns(completions: Sequence[Completion], *, now: datetime | None) -> dict[str, Any]:
    """Column by column, as ``complete_runs.sql`` takes it."""
    return {
        "job_ids": [c.job_id for c in completions],
        "scheduled_for": [c.scheduled_for for c in completions],
        "tokens": [c.token for c in completions],
        "states": [c.state for c in completions],
        "reasons": [c.reason for c in completions],
        "errors": [c.error for c in completions],
        "next_attempt_at": [c.next_attempt_at for c in completions],
        "wake_at": [c.wake_at for c in completions],
        "outcomes": [c.outcome for c in completions],
        "status_codes": [c.status_code for c in completions],
        "durations_ms": [c.duration_ms for c in completions],
        "first": min(c.scheduled_for for c in completions),
        "last": max(c.scheduled_for for c in completions),
        "now": now,
    }


async def lock_gone_jobs(connection: AsyncConnection, job_ids: Sequence[UUID]) -> None:
    """Lock jobs that ``pause_gone_jobs`` may pause, before their runs are touched: the order of all who lock both."""
    await connection.execute(query("lock_gone_jobs"), {"job_ids": list(job_ids)})


async def pause_gone_jobs(
    connection: AsyncConnection, runs: Sequence[tuple[LeasedRun, str | None]], *, now: datetime | None = None
) -> None:
    """Pause the jobs of these runs, whose targets are gone for good. With each run, what its target answered."""
    each = {run.job_id: (run, error) for run, error in runs}
    values = {
        "job_ids": list(each),
        "shard_ids": [shard_of(job_id) for job_id in each],
        "target_ids": [run.target_id for run, _ in each.values()],
        "run_ids": [run.run_id for run, _ in each.values()],
        "scheduled_for": [run.scheduled_for for run, _ in each.values()],
        "attempts": [run.attempt for run, _ in each.values()],
        "errors": [error for _, error in each.values()],
        "now": now,
    }
    await connection.execute(query("pause_gone_jobs"), values)


class FreedRun(NamedTuple):
    """A run that waited (for the one before it, or for a slot) and may start now."""

    job_id: UUID
    scheduled_for: datetime
    tenant_id: UUID
    lane: str
    next_attempt_at: datetime


async def release_buffered(
    connection: AsyncConnection, job_ids: Sequence[UUID], *, grace: timedelta, now: datetime | None = None
) -> list[FreedRun]:
    """Let the buffered runs of these jobs start; they must be sent after the commit.

    The jobs are held first: a run that is being told to wait at this moment would not be seen otherwise.
    """
    await connection.execute(query("lock_contended"), {"job_ids": list(job_ids)})
    cursor = await connection.execute(query("release_buffered"), {"job_ids": list(job_ids), "now": now, "grace": grace})
    return [FreedRun(*row) for row in await cursor.fetchall()]


async def offer_slots(
    connection: AsyncConnection, target_ids: Sequence[UUID], *, grace: timedelta, now: datetime | None = None
) -> list[FreedRun]:
    """Offer the free slots of these targets to the runs that waited longest; they must be sent after the commit."""
    values = {"target_ids": list(target_ids), "now": now, "grace": grace}
    await connection.execute(query("lock_limited_targets"), values)
    cursor = await connection.execute(query("offer_slots"), values)
    return [FreedRun(*row) for row in await cursor.fetchall()]


async def cancel_rescheduled(
    connection: AsyncConnection, runs: Sequence[tuple[UUID, datetime]], *, now: datetime | None = None
) -> None:
    """End waiting runs whose occurrence the present schedule no longer has."""
    ordered = sorted(runs)
    await connection.execute(
        query("cancel_rescheduled"),
        {"job_ids": [run[0] for run in ordered], "scheduled_for": [run[1] for run in ordered], "now": now},
    )
