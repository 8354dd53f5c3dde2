"""The next occurrences as people read them: local time, and what a clock change did."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from itertools import islice
from typing import TypedDict
from uuid import UUID

from hourbell.domain.clock import wall_text, zone
from hourbell.domain.instants import format_instant
from hourbell.domain.limits import PREVIEW_MAX
from hourbell.domain.occurrence import Occurrence
from hourbell.domain.schedule import Schedule, next_after, times_left_out


class PreviewedOccurrence(TypedDict):
    """One line of a preview, in the API's shape."""

    scheduled_for: str
    local: str
    note: str | None


def preview(
    schedule: Schedule,
    *,
    job_id: UUID | None,
    after: datetime,
    count: int,
    runs_planned: int = 0,
    skipped: Collection[datetime] = (),
) -> list[PreviewedOccurrence]:
    """The next `count` occurrences (at most `PREVIEW_MAX`) strictly after `after`; fewer when the schedule ends.

    `skipped`: occurrences that are left out.
    Without a job (`job_id=None`) an expression with H is refused with a `FieldError`.
    """
    if schedule.max_runs is not None:
        count = min(count, max(0, schedule.max_runs - runs_planned))
    pairs = (pair for pair in _pairs(schedule, job_id, after) if pair[2].scheduled_for not in skipped)
    return [_shown(schedule, *pair) for pair in islice(pairs, min(count, PREVIEW_MAX))]


def _pairs(
    schedule: Schedule, job_id: UUID | None, after: datetime
) -> Iterator[tuple[UUID | None, datetime, Occurrence]]:
    while (found := next_after(schedule, job_id, after)) is not None:
        yield job_id, after, found
        after = found.scheduled_for


def _shown(schedule: Schedule, job_id: UUID | None, after: datetime, found: Occurrence) -> PreviewedOccurrence:
    local = found.scheduled_for.astimezone(zone(schedule.timezone or "UTC").info)
    left_out = [wall_text(wall) for wall in times_left_out(schedule, job_id, after, found.scheduled_for)]
    notes = [found.note, f"{', '.join(left_out)} left out by the clock change" if left_out else None]
    return {
        "scheduled_for": format_instant(found.scheduled_for),
        "local": local.isoformat(timespec="milliseconds"),
        "note": "; ".join(note for note in notes if note) or None,
    }
