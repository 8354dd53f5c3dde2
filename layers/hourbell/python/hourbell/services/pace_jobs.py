"""Pacing: runs of limited targets and tenants are given moments that these have left, in the order they are due in.

A target has a rate (``domain.pacing``), a tenant a number of runs in each minute of the clock (``domain.quotas``). The
tenant's is asked first: a target's pace is exact, and a run that it moves on is counted in the minute in which it would
have started without it.

A moment is given away once. What fits into the horizon becomes a run that starts then; what lies past it stays in the
hot table with that moment as its ``next_run_at``, later than its own time, and keeps it at its next claim. Tenants are
locked before targets, both until the claim is committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from hourbell.domain.occurrence import window_offset_ms
from hourbell.domain.pacing import Pace, reserve
from hourbell.domain.planning import Plan, PlannedRun
from hourbell.domain.quotas import Minutes, minute_of
from hourbell.domain.recovery import WAKE_GRACE
from hourbell.domain.run_state import Lane
from hourbell.lanes.messages import LaneMessage
from hourbell.store import pacing, quotas
from hourbell.store.claims import DueRow, JobRow
from hourbell.store.connection import Connection
from hourbell.store.pacing import WaitingRun

_ONE_MS = timedelta(milliseconds=1)


class PlannedJob(NamedTuple):
    """A due job and what was planned for it."""

    row: DueRow
    job: JobRow
    plan: Plan


class _Paced:
    """The runs of one job that got a moment, and the first that got one past the horizon."""

    def __init__(self, planned: PlannedJob) -> None:
        self.planned = planned
        self.runs: list[PlannedRun] = []
        self.held: PlannedRun | None = None

    def result(self) -> PlannedJob:
        plan = self.planned.plan
        following = plan.next if self.held is None else self.held
        return self.planned._replace(plan=Plan(runs=tuple(self.runs), next=following, missed=plan.missed))


class _Limits:
    """Locked quotas of tenants and rates of targets, and the moments they have left."""

    def __init__(self, connection: Connection, planned: Sequence[PlannedJob], *, now: datetime) -> None:
        self._connection = connection
        self._now = now
        # by number: a claim has thousands of jobs of few tenants
        tenant_ids = {one.row.tenant_id.int: one.row.tenant_id for one in planned}
        target_ids = {one.job.target_id.int: one.job.target_id for one in planned}
        tenants = quotas.lock_run_quotas(connection, tenant_ids.values())
        targets = pacing.lock_paced_targets(connection, target_ids.values())
        given = quotas.fetch_tenant_minutes(connection, [one.tenant_id for one in tenants], since=minute_of(now))
        self._minutes = {one.tenant_id: Minutes(one.max_runs_per_minute, given[one.tenant_id]) for one in tenants}
        self._paces = {one.target_id: Pace(rate_per_second=one.rate_per_second, burst=one.burst) for one in targets}
        self._tats = {one.target_id: one.tat for one in targets}

    def __bool__(self) -> bool:
        return bool(self._minutes or self._paces)

    def apply_to(self, one: PlannedJob) -> bool:
        """Whether the job's tenant or target has a limit."""
        return one.row.tenant_id in self._minutes or one.job.target_id in self._paces

    def reserve(self, one: PlannedJob, wanted: datetime) -> datetime:
        """The moment of a run; given away from now on."""
        minutes, pace = self._minutes.get(one.row.tenant_id), self._paces.get(one.job.target_id)
        release = wanted if minutes is None else minutes.reserve(wanted, now=self._now)
        if pace is not None:
            release, self._tats[one.job.target_id] = reserve(pace, self._tats[one.job.target_id], release)
        return release

    def write(self) -> None:
        """Store what was given away."""
        taken = {tenant_id: minutes.taken for tenant_id, minutes in self._minutes.items() if minutes.taken}
        if taken:
            quotas.write_tenant_minutes(self._connection, taken, since=minute_of(self._now))
        if self._paces:
            tats = {target_id: tat for target_id, tat in self._tats.items() if tat is not None}
            pacing.write_arrival_times(self._connection, tats)


def pace_jobs(
    connection: Connection, planned: Sequence[PlannedJob], *, now: datetime, until: datetime
) -> Iterable[PlannedJob]:
    """The same jobs, with the runs of limited tenants and targets moved to moments that these have left."""
    limits = _Limits(connection, planned, now=now)
    if not limits:
        return planned
    paced = {one.row.job_id: _Paced(one) for one in planned if limits.apply_to(one)}
    if not paced:
        return planned
    for run, row in sorted(_wanted(paced.values()), key=lambda wanted: (wanted[0].fire_at, wanted[1].job_id)):
        job = paced[row.job_id]
        if job.held is not None:
            continue
        if row.scheduled_for == run.scheduled_for and row.next_run_at > run.fire_at:
            release = row.next_run_at  # given away at an earlier claim
        else:
            release = limits.reserve(job.planned, run.fire_at)
        moved = PlannedRun(run.scheduled_for, release)
        if release > until:
            job.held = moved
        else:
            job.runs.append(moved)
    limits.write()
    return [paced[one.row.job_id].result() if one.row.job_id in paced else one for one in planned]


def _wanted(paced: Iterable[_Paced]) -> Iterable[tuple[PlannedRun, DueRow]]:
    return ((run, one.planned.row) for one in paced for run in one.planned.plan.runs)


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
