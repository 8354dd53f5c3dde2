"""Re-planning after an update of the time-zone data.

The instant of "02:00 in Cairo" on a day to come was computed when the occurrence before it was planned. A release with
newer zone data may find another instant for it: jobs whose next occurrence moved are put where they belong now, and
their waiting runs are checked against the schedule when they are leased (``schedule_version``). The work is done in id
order, a batch a transaction, and goes on where it stopped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from hourbell.domain.errors import HourbellError
from hourbell.domain.occurrence import window_offset_ms
from hourbell.domain.schedule import Every, next_after, schedule_from_json
from hourbell.store import zone_data
from hourbell.store.connection import Connection, Database
from hourbell.store.zone_data import PlacedJob, Replacement

logger = logging.getLogger(__name__)

BATCH = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Replanned:
    """What one re-planning did. ``done``: every job is planned with the present zone data."""

    looked_at: int
    moved: int
    done: bool


def replan_jobs(
    database: Database,
    *,
    version: str,
    now: datetime,
    time_left: Callable[[], bool],
    force: bool = False,
    batch: int = BATCH,
) -> Replanned:
    """Put every job where ``version`` of the zone data says, unless that was done before.

    ``force`` starts over, also for a version that was done.
    """
    after = database.run(lambda c: zone_data.begin_replan(c, version=version, force=force, now=now))
    looked_at = moved = 0
    while after is not None:
        if not time_left():
            return Replanned(looked_at=looked_at, moved=moved, done=False)
        seen, changed, after = database.run(partial(_replan_batch, after=after, now=now, limit=batch))
        looked_at += seen
        moved += changed
    if moved:
        logger.warning("jobs moved with the zone data", extra={"action": "replan", "version": version, "jobs": moved})
    return Replanned(looked_at=looked_at, moved=moved, done=True)


def _replan_batch(connection: Connection, *, after: UUID, now: datetime, limit: int) -> tuple[int, int, UUID | None]:
    placed = zone_data.lock_placed_jobs(connection, after=after, limit=limit, now=now)
    replacements = [found for job in placed if (found := replacement(job, now)) is not None]
    if replacements:
        zone_data.write_replanned(connection, replacements, now=now)
    through = placed[-1].job_id if len(placed) == limit else None
    zone_data.advance_replan(connection, through=through, now=now)
    return len(placed), len(replacements), through


def replacement(job: PlacedJob, now: datetime) -> Replacement | None:
    """Where the job belongs, if that is elsewhere. What is due already stays: it was promised for then."""
    if job.scheduled_for <= now:
        return None
    try:
        schedule = schedule_from_json(job.schedule)
        if isinstance(schedule, Every):
            return None
        found = next_after(schedule, job.job_id, max(now, job.planned_through or now))
    except (HourbellError, ValueError, LookupError):
        return None  # the next claim marks it with its error
    if found is None or found.scheduled_for == job.scheduled_for:
        return None
    offset = timedelta(milliseconds=window_offset_ms(job.job_id, job.window_ms))
    return Replacement(job.job_id, found.scheduled_for, found.scheduled_for + offset)
