"""Runs: what happened, and a run at once for whoever asks."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from hourbell.domain.ids import run_id as run_id_of
from hourbell.domain.ids import run_scheduled_for
from hourbell.domain.instants import floor_ms
from hourbell.domain.run_state import Lane, lane_for
from hourbell.lanes.messages import LaneMessage
from hourbell.lanes.sqs import Lanes
from hourbell.services.errors import NotFoundError
from hourbell.services.tiers import lock_in_tiers
from hourbell.store import jobs, missed, runs_read
from hourbell.store.connection import Connection, Database
from hourbell.store.jobs import StoredJob
from hourbell.store.missed import StoredStretch
from hourbell.store.runs_read import RunFilter, StoredAttempt, StoredRun, TriggeredRun

if TYPE_CHECKING:
    from hourbell.cold.record import ColdJob

logger = logging.getLogger(__name__)

_ONE_MS = timedelta(milliseconds=1)
# Milliseconds tried for a triggered run before the job is taken to be under a flood of triggers.
_FREE_MS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run with its attempts, in order."""

    stored: StoredRun
    attempts: Sequence[StoredAttempt]

    @property
    def lateness_ms(self) -> int | None:
        """Start of the first attempt minus fire_at; None before it.

        None too for a run that a pause of its target held after it had started: it was meant for later then.
        """
        started_at, fire_at = self.stored.started_at, self.stored.fire_at
        return None if started_at is None or started_at < fire_at else (started_at - fire_at) // _ONE_MS


def get_run(database: Database, tenant_id: UUID, run_id: UUID) -> Run:
    """One run.

    Raises:
        NotFoundError: the tenant has no such run.
    """
    return database.run(lambda connection: _read_run(connection, tenant_id, run_id))


def list_runs(
    database: Database,
    tenant_id: UUID,
    only: RunFilter,
    *,
    before: tuple[datetime, UUID] | None = None,
    limit: int,
    now: datetime,
) -> list[Run]:
    """A page of runs, latest occurrence first; what is only planned ahead is shown when queued runs are asked for."""

    def read(connection: Connection) -> list[Run]:
        found = runs_read.list_runs(connection, tenant_id, only, before=before, limit=limit, now=now)
        return _with_attempts(connection, found)

    return database.run(read)


def list_job_runs(
    database: Database,
    tenant_id: UUID,
    job_id: UUID,
    *,
    state: str | None = None,
    before: tuple[datetime, UUID] | None = None,
    limit: int,
    cold_job: ColdJob | None = None,
    now: datetime,
) -> list[Run]:
    """A page of one job's runs, as ``list_runs`` shows them; a cold one has none.

    Raises:
        NotFoundError: the tenant has no such job.
    """

    def read(connection: Connection) -> list[Run]:
        if not _is_hot(connection, tenant_id, job_id, cold_job):
            return []
        only = RunFilter(state=state, job_id=job_id)
        found = runs_read.list_runs(connection, tenant_id, only, before=before, limit=limit, now=now)
        return _with_attempts(connection, found)

    return database.run(read)


def list_missed(
    database: Database,
    tenant_id: UUID,
    job_id: UUID,
    *,
    before: datetime | None = None,
    limit: int,
    cold_job: ColdJob | None = None,
) -> list[StoredStretch]:
    """A page of the stretches of occurrences that one job missed, latest first.

    Raises:
        NotFoundError: the tenant has no such job.
    """

    def read(connection: Connection) -> list[StoredStretch]:
        if not _is_hot(connection, tenant_id, job_id, cold_job):
            return []
        return missed.list_missed(connection, tenant_id, job_id, before=before, limit=limit)

    return database.run(read)


def trigger_job(
    database: Database,
    lanes: Lanes,
    tenant_id: UUID,
    job_id: UUID,
    *,
    payload: str | None,
    cold_job: ColdJob | None = None,
    now: datetime,
) -> Run:
    """Run a job now, also a paused one; its schedule takes no notice. A target's pace is kept. A cold job thaws.

    ``payload``: JSON text in place of the job's own. Several triggers in one millisecond get one each of the next.

    Raises:
        NotFoundError: the tenant has no such job.
    """

    def trigger(connection: Connection) -> tuple[Run, list[LaneMessage]]:
        job = jobs.fetch_job(connection, tenant_id, job_id)
        if job is None and cold_job is not None:
            job = lock_in_tiers(connection, tenant_id, job_id, cold_job, now=now)
        if job is None:
            raise NotFoundError("job")
        run = _insert_run(connection, tenant_id, job, payload, now)
        message = LaneMessage(
            job_id=job_id,
            scheduled_for=run.scheduled_for,
            tenant_id=tenant_id,
            lane=Lane(run.lane),
            ready_at=run.fire_at,
        )
        is_near = run.wake_at > run.fire_at
        return _read_run(connection, tenant_id, run.run_id), [message] if is_near else []

    run, messages = database.run(trigger)
    dispatch_quietly(database, lanes, messages, now=now)
    return run


def dispatch_quietly(database: Database, lanes: Lanes, messages: Sequence[LaneMessage], *, now: datetime) -> None:
    """Send what a committed transaction planned. A failure is no longer the caller's: the reaper sends it again."""
    from hourbell.services.dispatch_runs import dispatch_runs

    try:
        dispatch_runs(database, lanes, messages, now=now)
    except Exception:
        logger.exception("planned runs were not sent", extra={"action": "dispatch", "runs": len(messages)})


def _is_hot(connection: Connection, tenant_id: UUID, job_id: UUID, cold_job: ColdJob | None) -> bool:
    """Whether the job is in the hot tier; False: in the cold one.

    Raises:
        NotFoundError: in neither.
    """
    if jobs.fetch_job(connection, tenant_id, job_id) is not None:
        return True
    if cold_job is None:
        raise NotFoundError("job")
    return False


def _insert_run(
    connection: Connection, tenant_id: UUID, job: StoredJob, payload: str | None, now: datetime
) -> TriggeredRun:
    from hourbell.domain.recovery import RETRY_IN_LANE, WAKE_EARLY, WAKE_GRACE

    start = floor_ms(now)
    fire_at = _paced(connection, job.target_id, start)
    # What a lane cannot delay for so long is sent by the reaper, in time.
    wake_at = fire_at + WAKE_GRACE if fire_at - start <= RETRY_IN_LANE else fire_at - WAKE_EARLY
    for step in range(_FREE_MS):
        scheduled_for = start + step * _ONE_MS
        run = TriggeredRun(
            job_id=job.job_id,
            scheduled_for=scheduled_for,
            run_id=run_id_of(job.job_id, scheduled_for),
            tenant_id=tenant_id,
            target_id=job.target_id,
            lane=lane_for(job.timeout_ms, job.target_kind),
            schedule_version=job.schedule_version,
            fire_at=fire_at,
            wake_at=wake_at,
            payload=payload,
            now=now,
        )
        if runs_read.insert_triggered_run(connection, run):
            return run
    raise AssertionError(f"no free millisecond after {start}")


def _paced(connection: Connection, target_id: UUID, wanted: datetime) -> datetime:
    """The moment that the target's pace gives a run wanted at ``wanted``; it is given away with this."""
    from hourbell.domain.pacing import Pace, reserve
    from hourbell.store import pacing

    for target in pacing.lock_paced_targets(connection, [target_id]):
        pace = Pace(rate_per_second=target.rate_per_second, burst=target.burst)
        release, tat = reserve(pace, target.tat, wanted)
        pacing.write_arrival_times(connection, {target_id: tat})
        return floor_ms(release)
    return wanted


def _read_run(connection: Connection, tenant_id: UUID, run_id: UUID) -> Run:
    stored = runs_read.fetch_run(connection, tenant_id, run_id, scheduled_for=run_scheduled_for(run_id))
    if stored is None:
        raise NotFoundError("run")
    return _with_attempts(connection, [stored])[0]


def _with_attempts(connection: Connection, found: Sequence[StoredRun]) -> list[Run]:
    attempts = runs_read.fetch_attempts(connection, found) if found else {}
    return [Run(stored=run, attempts=attempts.get(run.run_id, ())) for run in found]
