"""Pacing: planned runs of a rate-limited target are given moments at its pace, in the order in which they are due.

A moment is given away once. What fits into the horizon becomes a run that starts then; what lies past it stays in the
hot table with that moment as its ``next_run_at``, later than its own time, and keeps it at its next claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from hourbell.domain.pacing import Pace, reserve
from hourbell.domain.planning import Plan, PlannedRun
from hourbell.store import pacing
from hourbell.store.claims import DueRow, JobRow
from hourbell.store.connection import Connection
from hourbell.store.pacing import PacedTarget


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
