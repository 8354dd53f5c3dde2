"""Planning: locked due rows and their jobs become what one claim writes and sends."""

from __future__ import annotations

import json
import logging
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from hourbell.domain.durations import parse_duration
from hourbell.domain.errors import HourbellError
from hourbell.domain.ids import run_id
from hourbell.domain.planning import (
    RUNS_PER_CLAIM,
    CatchUp,
    CatchUpPolicy,
    MissedStretch,
    Plan,
    PlannableJob,
    plan,
    plans_alike,
)
from hourbell.domain.run_state import JobState, lane_for
from hourbell.domain.schedule import schedule_from_json
from hourbell.lanes.messages import LaneMessage
from hourbell.services.pace_jobs import PlannedJob
from hourbell.store.claims import ClaimWrites, DueRow, JobRow
from hourbell.store.jobs import StoredJob

logger = logging.getLogger(__name__)


class Planner:
    """Plans locked rows one by one and gathers what the claim writes and sends."""

    def __init__(self, *, now: datetime, until: datetime, runs_per_job: int) -> None:
        self._now = now
        self._until = until
        self._limit = min(RUNS_PER_CLAIM, runs_per_job)
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
        for stretch in made.missed:
            gather_missed(self.writes, row.tenant_id, job, stretch)
        self._gather_next(row, job, made)

    def _plan(self, row: DueRow, job: JobRow) -> Plan:
        key = (job.schedule, job.catch_up, row.scheduled_for, row.next_run_at)
        known = self._alike.get(key)
        if known is not None and not job.window_ms and not job.skipped:
            return known
        plannable = PlannableJob(
            job_id=job.job_id,
            schedule=schedule_from_json(job.schedule),
            window_ms=job.window_ms,
            catch_up=catch_up_from_json(job.catch_up),
            runs_planned=job.runs_planned,
            skipped=frozenset(job.skipped),
        )
        planned = plan(
            plannable,
            scheduled_for=row.scheduled_for,
            next_run_at=row.next_run_at,
            now=self._now,
            until=self._until,
            limit=self._limit,
        )
        if plans_alike(plannable):
            self._alike[key] = planned
        return planned

    def _gather_runs(self, row: DueRow, job: JobRow, planned: Plan) -> None:
        writes, lane = self.writes, lane_for(job.timeout_ms, job.target_kind)
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


def gather_missed(writes: ClaimWrites, tenant_id: UUID, job: JobRow | StoredJob, stretch: MissedStretch) -> None:
    """Take a stretch of occurrences that are not run into what is written."""
    writes.missed_job_ids.append(job.job_id)
    writes.missed_first.append(stretch.first)
    writes.missed_last.append(stretch.last)
    writes.missed_tenant_ids.append(tenant_id)
    writes.missed_occurrences.append(stretch.occurrences)
    writes.missed_reasons.append(stretch.reason)
    for scheduled_for in stretch.each:
        writes.skipped_job_ids.append(job.job_id)
        writes.skipped_scheduled_for.append(scheduled_for)
        writes.skipped_ids.append(run_id(job.job_id, scheduled_for))
        writes.skipped_tenant_ids.append(tenant_id)
        writes.skipped_target_ids.append(job.target_id)
        writes.skipped_reasons.append(stretch.reason)
        writes.skipped_schedule_versions.append(job.schedule_version)
