"""Pacing: planned runs of a rate-limited target are given moments at its pace, in the order in which they are due.

A moment is given away once. What fits into the horizon becomes a run that starts then; what lies past it stays in the
hot table with that moment as its ``next_run_at``, later than its own time, and keeps it at its next claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from hourbell.domain.occurrence import window_offset_ms
from hourbell.domain.pacing import Pace, reserve
from hourbell.domain.planning import Plan, PlannedRun
from hourbell.domain.recovery import WAKE_GRACE
from hourbell.domain.run_state import Lane
from hourbell.lanes.messages import LaneMessage
from hourbell.store import pacing
from hourbell.store.claims import DueRow, JobRow
from hourbell.store.connection import Connection
from hourbell.store.pacing import PacedTarget, WaitingRun

_ONE_MS = timedelta(milliseconds=1)


class PlannedJob(NamedTuple):
    """A due job and what was planned for it."""

    row: DueRow
    job: JobRow
    plan: Plan


@dataclass(slots=True)
class _Released:
    """The runs of one job that got a moment, and the first that got one past the horizon."""

    runs: list[PlannedRun]
    held: PlannedRun | None = None


def pace_jobs(connection: Connection, planned: Sequence[PlannedJob], *, until: datetime) -> Iterable[PlannedJob]:
    """The same jobs, with the runs of rate-limited targets moved to their pace."""
    targets = pacing.lock_paced_targets(connection, {job.target_id for _, job, _ in planned})
    if not targets:
        return planned
    paced: dict[UUID, list[PlannedJob]] = {target.target_id: [] for target in targets}
    others: list[PlannedJob] = []
    for one in planned:
        paced.get(one.job.target_id, others).append(one)
    tats: dict[UUID, datetime] = {}
    for target in targets:
        others += _pace_target(target, paced[target.target_id], until, tats)
    pacing.write_arrival_times(connection, tats)
    return sorted(others, key=lambda one: one.row.job_id)


def _pace_target(
    target: PacedTarget, planned: Sequence[PlannedJob], until: datetime, tats: dict[UUID, datetime]
) -> list[PlannedJob]:
    pace = Pace(rate_per_second=target.rate_per_second, burst=target.burst)
    tat = target.tat
    released = {one.row.job_id: _Released([]) for one in planned}
    for run, row in sorted(_wanted(planned), key=lambda wanted: (wanted[0].fire_at, wanted[1].job_id)):
        job = released[row.job_id]
        if job.held is not None:
            continue
        if row.scheduled_for == run.scheduled_for and row.next_run_at > run.fire_at:
            release = row.next_run_at  # given away at an earlier claim
        else:
            release, tat = reserve(pace, tat, run.fire_at)
        moved = PlannedRun(run.scheduled_for, release)
        if release > until:
            job.held = moved
        else:
            job.runs.append(moved)
    if tat is not None:
        tats[target.target_id] = tat
    return [_replaced(one, released) for one in planned]


def _wanted(planned: Sequence[PlannedJob]) -> Iterable[tuple[PlannedRun, DueRow]]:
    return ((run, one.row) for one in planned for run in one.plan.runs)


def _replaced(one: PlannedJob, released: Mapping[UUID, _Released]) -> PlannedJob:
    job = released[one.row.job_id]
    following = one.plan.next if job.held is None else job.held
    return one._replace(plan=Plan(runs=tuple(job.runs), next=following, missed=one.plan.missed))


def repace_target(connection: Connection, target_id: UUID, *, now: datetime) -> list[LaneMessage]:
    """Give everything that waits for this target moments of its present pace, from now on.

    The caller holds the target locked, and sends the messages after its commit. Those under way with an old
    moment do no harm: one that comes early is a stray, one that comes late finds its run taken.
    """
    pacing.forget_paced_moments(connection, target_id)
    waiting = pacing.lock_waiting_runs(connection, target_id, now=now)
    limits = pacing.lock_paced_targets(connection, [target_id])
    pace = Pace(rate_per_second=limits[0].rate_per_second, burst=limits[0].burst) if limits else None
    tat: datetime | None = None
    moved = []
    for run in waiting:
        offset = timedelta(milliseconds=window_offset_ms(run.job_id, run.window_ms))
        nominal = max(run.scheduled_for + offset, now)
        if pace is None:
            release = nominal
        else:
            release, tat = reserve(pace, tat, nominal)
        moved.append(run._replace(fire_at=release))
    pacing.move_waiting_runs(connection, moved, grace=WAKE_GRACE)
    if pace is not None:
        pacing.write_arrival_times(connection, {target_id: tat or now})
    return [waiting_message(run) for run in moved]


def release_target(connection: Connection, target_id: UUID, *, now: datetime) -> list[LaneMessage]:
    """Let the runs that a pause of this target held start now, at its pace; the caller sends them after its commit."""
    held = pacing.release_held(connection, target_id, grace=WAKE_GRACE, now=now)
    if not held or not pacing.lock_paced_targets(connection, [target_id]):
        return [waiting_message(run) for run in held]
    return repace_target(connection, target_id, now=now - _ONE_MS)


def waiting_message(run: WaitingRun) -> LaneMessage:
    """The message of a run that waits."""
    return LaneMessage(
        job_id=run.job_id,
        scheduled_for=run.scheduled_for,
        tenant_id=run.tenant_id,
        lane=Lane(run.lane),
        ready_at=run.fire_at,
    )
