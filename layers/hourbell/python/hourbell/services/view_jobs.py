"""Jobs as their user sees them: one, a page, what comes next.

What a user sees of a job's future is computed from its schedule, not from the hot table: a claim moves the due row past
the horizon ahead of time, and completes a one-off as soon as its run is planned. So

- a ``completed`` job with a run that has not ended is shown as ``active``;
- ``next_runs`` start with the due row's occurrence when that is overdue, and go on with what follows ``now``.

``cold_job`` is where the job's address led to before the transaction; None: not to the cold tier. Schedules are
imported where they are used: a cold start for another resource does not pay for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from hourbell.domain.cold import Tier
from hourbell.domain.errors import HourbellError
from hourbell.domain.run_state import JobState
from hourbell.services.errors import NotFoundError
from hourbell.services.tiers import as_stored
from hourbell.store import jobs
from hourbell.store.connection import Connection
from hourbell.store.jobs import StoredJob

if TYPE_CHECKING:
    from hourbell.cold.record import ColdJob
    from hourbell.domain.preview import PreviewedOccurrence
    from hourbell.domain.schedule import Schedule
    from hourbell.services.jobs import Scheduler
    from hourbell.store.job_lists import JobFilter

NEXT_RUNS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as its user sees it. ``next_runs``: up to five occurrences that have not fired."""

    stored: StoredJob
    state: JobState
    next_runs: tuple[datetime, ...]
    tier: Tier = Tier.HOT


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPage:
    """``through_id``: how far was looked for the jobs of a short page; None: they are all there are."""

    jobs: Sequence[Job]
    through_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Upcoming:
    """The next occurrences, and the schedule in plain words; None where it is no longer accepted."""

    description: str | None
    occurrences: Sequence[PreviewedOccurrence]


def get_job(
    scheduler: Scheduler, tenant_id: UUID, job_id: UUID, *, cold_job: ColdJob | None = None, now: datetime
) -> Job:
    """One job, from whichever tier it is in.

    Raises:
        NotFoundError: the tenant has no such job.
    """

    def read(connection: Connection) -> Job:
        stored = jobs.fetch_job(connection, tenant_id, job_id)
        if stored is None and cold_job is not None:
            return view_cold_jobs(connection, tenant_id, [cold_job], now=now)[0]
        return _viewed(connection, stored, now)

    return scheduler.database.run(read)


def list_jobs(
    scheduler: Scheduler,
    tenant_id: UUID,
    only: JobFilter,
    *,
    before_id: UUID | None = None,
    limit: int,
    now: datetime,
) -> JobPage:
    """A page of jobs, newest first."""

    from hourbell.store import job_lists

    def read(connection: Connection) -> JobPage:
        page = job_lists.list_jobs(connection, tenant_id, only, before_id=before_id, limit=limit, now=now)
        return JobPage(jobs=view_jobs(connection, page.jobs, now), through_id=page.through_id)

    return scheduler.database.run(read)


def list_upcoming(
    scheduler: Scheduler,
    tenant_id: UUID,
    job_id: UUID,
    *,
    count: int,
    cold_job: ColdJob | None = None,
    now: datetime,
) -> Upcoming:
    """The next occurrences by the schedule alone, as a preview shows them; none for a job that has ended.

    Raises:
        NotFoundError: the tenant has no such job.
    """
    from hourbell.domain.description import describe
    from hourbell.domain.preview import preview

    def read(connection: Connection) -> tuple[StoredJob, int | None]:
        stored = jobs.fetch_job(connection, tenant_id, job_id)
        if stored is None and cold_job is not None:
            return as_stored(connection, tenant_id, [cold_job], now=now)[0], None
        if stored is None:
            raise NotFoundError("job")
        return stored, _runs_left(stored, jobs.count_planned_ahead(connection, [job_id], now=now))

    stored, left = scheduler.database.run(read)
    schedule = accepted_schedule(stored)
    if schedule is None:
        return Upcoming(description=None, occurrences=[])
    count = 0 if has_ended(stored) else count if left is None else min(count, left)
    found = preview(schedule, job_id=job_id, after=now, count=count, skipped=stored.skipped)
    return Upcoming(description=describe(schedule, job_id=job_id), occurrences=found)


def read_job(connection: Connection, tenant_id: UUID, job_id: UUID, now: datetime) -> Job:
    """A warm job, in the caller's transaction.

    Raises:
        NotFoundError: the tenant has no such job.
    """
    return _viewed(connection, jobs.fetch_job(connection, tenant_id, job_id), now)


def view_jobs(connection: Connection, found: Sequence[StoredJob], now: datetime) -> list[Job]:
    """Stored jobs as their user sees them."""
    counted = [stored.job_id for stored in found if stored.unfinished or '"max_runs"' in stored.schedule]
    ahead = jobs.count_planned_ahead(connection, counted, now=now) if counted else {}
    return [
        Job(stored=stored, state=_shown_state(stored), next_runs=_next_runs(stored, ahead, now)) for stored in found
    ]


def view_cold_jobs(connection: Connection, tenant_id: UUID, found: Sequence[ColdJob], *, now: datetime) -> list[Job]:
    """Cold jobs as their user sees them."""
    return [
        Job(stored=stored, state=JobState.ACTIVE, next_runs=_known_runs(stored), tier=Tier.COLD)
        for stored in as_stored(connection, tenant_id, found, now=now)
    ]


def has_ended(stored: StoredJob) -> bool:
    """Whether no run of the job is left, planned or to be planned."""
    return stored.state == JobState.COMPLETED and not stored.unfinished


def accepted_schedule(stored: StoredJob) -> Schedule | None:
    """The schedule; None where it is no longer accepted (a zone removed): such a job is still shown, with its error."""
    from hourbell.domain.schedule import schedule_from_json

    try:
        return schedule_from_json(stored.schedule)
    except (HourbellError, ValueError, LookupError):
        return None


def _viewed(connection: Connection, stored: StoredJob | None, now: datetime) -> Job:
    if stored is None:
        raise NotFoundError("job")
    return view_jobs(connection, [stored], now)[0]


def _shown_state(stored: StoredJob) -> JobState:
    return JobState.ACTIVE if stored.unfinished else JobState(stored.state)


def _known_runs(stored: StoredJob) -> tuple[datetime, ...]:
    return () if stored.due_scheduled_for is None else (stored.due_scheduled_for,)


def _next_runs(stored: StoredJob, ahead: Mapping[UUID, int], now: datetime) -> tuple[datetime, ...]:
    from hourbell.domain.schedule import next_after

    if _shown_state(stored) is not JobState.ACTIVE:
        return ()
    overdue = stored.due_scheduled_for
    times = [overdue] if overdue is not None and overdue <= now else []
    schedule, left, instant = accepted_schedule(stored), _runs_left(stored, ahead), now
    limit = NEXT_RUNS if left is None else min(NEXT_RUNS, left)
    while schedule is not None and len(times) < limit:
        found = next_after(schedule, stored.job_id, instant)
        if found is None:
            break
        instant = found.scheduled_for
        if instant not in stored.skipped:
            times.append(instant)
    return tuple(times)


def _runs_left(stored: StoredJob, ahead: Mapping[UUID, int]) -> int | None:
    """How many occurrences after now still get a run, those planned ahead included; None: as many as there are."""
    planned = ahead.get(stored.job_id, 0)
    if stored.unfinished:
        return planned
    schedule = accepted_schedule(stored)
    if schedule is None or schedule.max_runs is None:
        return None
    return max(0, schedule.max_runs - stored.runs_planned) + planned
