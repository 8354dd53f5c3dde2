"""A tenant's cold jobs, hour by hour, and the one that has a name.

A page looks at so many hours, and reads so many ranges of S3, as a reply has time for. It may hold fewer jobs than
asked for, or none, and say where to go on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from hourbell.cold.patience import REQUEST_SECONDS
from hourbell.cold.record import ColdJob
from hourbell.domain.ids import due_hour_of
from hourbell.services.cold_jobs import ReadJobs, find_cold_job, read_cold_jobs
from hourbell.services.jobs import Scheduler
from hourbell.services.view_jobs import Job, view_cold_jobs
from hourbell.store import cold, jobs
from hourbell.store.cold import ALL_HOURS
from hourbell.store.connection import Connection

HOURS_PER_PAGE = 48
READS_PER_PAGE = 64

_ONE_MS = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdPosition:
    """Where a list goes on: in this hour, after this id; None: at the hour's beginning."""

    due_hour: int
    after_id: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdPage:
    """``then``: where it goes on; None: that is all."""

    jobs: Sequence[Job]
    then: ColdPosition | None


def list_cold_jobs(
    scheduler: Scheduler,
    tenant_id: UUID,
    *,
    due_before: datetime | None = None,
    position: ColdPosition | None = None,
    limit: int,
    now: datetime,
) -> ColdPage:
    """A page of cold jobs: by the hours in which they are due, and within an hour in the order of their creation.

    Raises:
        ColdUnavailableError, SegmentError: what should be on the page cannot be read.
    """
    if scheduler.cold is None:
        return ColdPage(jobs=(), then=None)
    objects = scheduler.cold.within(REQUEST_SECONDS)
    read = partial(read_cold_jobs, scheduler.database, objects, tenant_id)
    first = ALL_HOURS[0] if position is None else position.due_hour
    last = ALL_HOURS[1] if due_before is None else due_hour_of(due_before - _ONE_MS)
    counts = scheduler.database.run(
        lambda c: cold.count_cold_jobs(c, tenant_id, hours=(first, last), limit=HOURS_PER_PAGE)
    )
    found, then = _collect(read, sorted(counts), position, limit, objects.is_late)
    if due_before is not None:
        found = [job for job in found if job.scheduled_for < due_before]

    def view(connection: Connection) -> list[Job]:
        # What was promoted while it was read is hot now.
        hot = jobs.fetch_jobs(connection, tenant_id, [job.job_id for job in found])
        return view_cold_jobs(connection, tenant_id, [job for job in found if job.job_id not in hot], now=now)

    return ColdPage(jobs=scheduler.database.run(view) if found else (), then=then)


def find_cold_job_by_name(scheduler: Scheduler, tenant_id: UUID, name: str, *, now: datetime) -> Job | None:
    """The cold job that has this name.

    Raises:
        ColdUnavailableError, SegmentError: its record cannot be read.
    """
    if scheduler.cold is None:
        return None
    job_id = scheduler.database.run(lambda c: cold.find_named_jobs(c, tenant_id, [name]).get(name))
    cold_job = None if job_id is None else find_cold_job(scheduler.database, scheduler.cold, tenant_id, job_id)
    if cold_job is None:
        return None
    return scheduler.database.run(lambda c: view_cold_jobs(c, tenant_id, [cold_job], now=now))[0]


def _collect(
    read: Callable[..., ReadJobs],
    due_hours: Sequence[int],
    position: ColdPosition | None,
    limit: int,
    is_late: Callable[[], bool],
) -> tuple[list[ColdJob], ColdPosition | None]:
    found: list[ColdJob] = []
    reads = 0
    for due_hour in due_hours:
        if len(found) >= limit or reads >= READS_PER_PAGE or (reads and is_late()):
            return found, ColdPosition(due_hour=due_hour, after_id=None)
        here = position if position is not None and position.due_hour == due_hour else None
        hour = read(
            due_hour=due_hour,
            after_id=None if here is None else here.after_id,
            limit=limit - len(found),
            max_reads=READS_PER_PAGE - reads,
        )
        found += hour.jobs
        reads += hour.reads
        if hour.through is not None:
            return found, ColdPosition(due_hour=due_hour, after_id=hour.through)
    if len(due_hours) < HOURS_PER_PAGE:
        return found, None
    return found, ColdPosition(due_hour=due_hours[-1] + 1, after_id=None)
