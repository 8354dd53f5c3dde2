"""Claiming: the due jobs of a shard range, or of a given few, become runs.

The scanner and the API share this code, so a job created inside the horizon is planned exactly as one that was found
by a scan. Everything happens inside the caller's transaction; the messages go out after its commit.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from uuid import UUID

from hourbell.domain.durations import parse_duration
from hourbell.domain.errors import HourbellError
from hourbell.domain.ids import run_id
from hourbell.domain.planning import CatchUp, CatchUpPolicy, Plan, PlannableJob, lane_for, plan, plans_alike
from hourbell.domain.run_state import JobState
from hourbell.domain.schedule import schedule_from_json
from hourbell.lanes.messages import LaneMessage
from hourbell.services.pace_jobs import PlannedJob, pace_jobs
from hourbell.store import claims
from hourbell.store.claims import ClaimWrites, DueRow, JobRow
from hourbell.store.connection import Connection

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one claim did. ``rows``: due rows taken; ``broken``: jobs that could not be planned."""

    rows: int
    messages: list[LaneMessage]
    broken: int


def claim_shards(
    connection: Connection,
    *,
    first_shard: int,
    last_shard: int,
    now: datetime,
    horizon: timedelta,
    per_shard: int,
) -> Claim:
    """Claim the oldest due rows of each shard up to the horizon; no rows: nothing is due there now."""
    until = now + horizon
    rows = claims.lock_due_of_shards(
        connection, first_shard=first_shard, last_shard=last_shard, until=until, per_shard=per_shard
    )
    return _claim_rows(connection, rows, now=now, until=until)


def claim_jobs(
    connection: Connection, job_ids: Sequence[UUID], *, now: datetime, horizon: timedelta
) -> list[LaneMessage]:
    """Claim exactly these jobs, as far as they are due within the horizon."""
    until = now + horizon
    rows = claims.lock_due_of_jobs(connection, job_ids, until=until)
    return _claim_rows(connection, rows, now=now, until=until).messages


def _claim_rows(connection: Connection, rows: Sequence[DueRow], *, now: datetime, until: datetime) -> Claim:
    if not rows:
        return Claim(rows=0, messages=[], broken=0)
    jobs = claims.fetch_plannable_jobs(connection, [row.job_id for row in rows])
    planner = _Planner(now=now, until=until)
    planned = [
        job
        for row in sorted(rows)  # by job id: writers that meet take their locks in the same order
        if (job := planner.plan(row, jobs.get(row.job_id))) is not None
    ]
    for job in pace_jobs(connection, planned, until=until):
        planner.gather(job)
    claims.write_claim(connection, planner.writes)
    return Claim(rows=len(rows), messages=planner.messages, broken=len(planner.writes.broken_job_ids))


class _Planner:
    """Plans locked rows one by one and gathers what the claim writes and sends."""

    def __init__(self, *, now: datetime, until: datetime) -> None:
        self._now = now
        self._until = until
        self._alike: dict[tuple[str, str, datetime, datetime], Plan] = {}
        self.writes = ClaimWrites(now=now)
        self.messages: list[LaneMessage] = []

    def plan(self, row: DueRow, job: JobRow | None) -> PlannedJob | None:
        """Plan one job; None when it has no place in the hot table any more."""
        writes = self.writes
        if job is None or job.state != JobState.ACTIVE:
            writes.removed_job_ids.append(row.job_id)
            return None
        try:
            return PlannedJob(row, job, self._plan(row, job))
        except (HourbellError, ValueError, ArithmeticError, LookupError) as error:
            # One bad row (a zone removed, an expression no longer accepted) never stops the others.
            extra = {"action": "claim", "job": str(row.job_id), "error": str(error)}
            logger.error("job cannot be planned", extra=extra)
            writes.removed_job_ids.append(row.job_id)
            writes.broken_job_ids.append(row.job_id)
            writes.broken_errors.append(str(error)[:1000])
            return None

    def gather(self, planned: PlannedJob) -> None:
        """Take a planned job into what is written and sent."""
        row, job, made = planned
        self._gather_runs(row, job, made)
        self._gather_missed(row, made)
        self._gather_next(row, job, made)

    def _plan(self, row: DueRow, job: JobRow) -> Plan:
        key = (job.schedule, job.catch_up, row.scheduled_for, row.next_run_at)
        known = self._alike.get(key)
        if known is not None and not job.window_ms:
            return known
        plannable = PlannableJob(
            job_id=job.job_id,
            schedule=schedule_from_json(job.schedule),
            window_ms=job.window_ms,
            catch_up=catch_up_from_json(job.catch_up),
            runs_planned=job.runs_planned,
        )
        planned = plan(
            plannable,
            scheduled_for=row.scheduled_for,
            next_run_at=row.next_run_at,
            now=self._now,
            until=self._until,
        )
        if plans_alike(plannable):
            self._alike[key] = planned
        return planned

    def _gather_runs(self, row: DueRow, job: JobRow, planned: Plan) -> None:
        writes, lane = self.writes, lane_for(job.timeout_ms)
        for run in planned.runs:
            writes.run_job_ids.append(row.job_id)
            writes.run_scheduled_for.append(run.scheduled_for)
            writes.run_ids.append(run_id(row.job_id, run.scheduled_for))
            writes.run_tenant_ids.append(row.tenant_id)
            writes.run_target_ids.append(job.target_id)
            writes.run_lanes.append(lane)
            writes.run_schedule_versions.append(job.schedule_version)
            writes.run_fire_at.append(run.fire_at)
            self.messages.append(
                LaneMessage(
                    job_id=row.job_id,
                    scheduled_for=run.scheduled_for,
                    tenant_id=row.tenant_id,
                    lane=lane,
                    ready_at=run.fire_at,
                )
            )

    def _gather_missed(self, row: DueRow, planned: Plan) -> None:
        writes = self.writes
        for stretch in planned.missed:
            writes.missed_job_ids.append(row.job_id)
            writes.missed_first.append(stretch.first)
            writes.missed_last.append(stretch.last)
            writes.missed_tenant_ids.append(row.tenant_id)
            writes.missed_occurrences.append(stretch.occurrences)
            writes.missed_reasons.append(stretch.reason)

    def _gather_next(self, row: DueRow, job: JobRow, planned: Plan) -> None:
        writes = self.writes
        if planned.next is None:
            writes.removed_job_ids.append(row.job_id)
            writes.completed_job_ids.append(row.job_id)
            writes.completed_runs.append(len(planned.runs))
            return
        writes.moved_job_ids.append(row.job_id)
        writes.moved_next_run_at.append(planned.next.fire_at)
        writes.moved_scheduled_for.append(planned.next.scheduled_for)
        if planned.runs and schedule_from_json(job.schedule).max_runs is not None:
            writes.counted_job_ids.append(row.job_id)
            writes.counted_runs.append(len(planned.runs))


@lru_cache(maxsize=4096)
def catch_up_from_json(text: str) -> CatchUp:
    """The catch-up policy from its stored JSON: ``{"policy": "run_once", "within": "P1D" | null}``."""
    fields = json.loads(text)
    within = fields.get("within")
    return CatchUp(
        policy=CatchUpPolicy(fields.get("policy", CatchUpPolicy.RUN_ONCE)),
        within=None if within is None else parse_duration(within, field="catch_up.within"),
    )
