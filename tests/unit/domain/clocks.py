"""Short words for the tests of this room."""

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hourbell.domain.errors import FieldErrors
from hourbell.domain.instants import parse_instant
from hourbell.domain.schedule import Schedule, next_after, parse_schedule, schedule_from_json

NOW = datetime(2026, 1, 1, tzinfo=UTC)
JOB = UUID("018f0000-0000-8000-8000-000000000001")
OTHER_JOB = UUID("018f0000-0000-8000-8000-000000000002")


def utc(text: str) -> datetime:
    """ "2026-01-01T00:00Z"; the Z may be left out."""
    return parse_instant(text if text.endswith("Z") else text + "Z", field="test")


def zulu(instant: datetime) -> str:
    """Without the milliseconds when there are none, as the cases are written."""
    return instant.isoformat(timespec="milliseconds").replace(".000", "").replace("+00:00", "Z")


def cron(expression: str, timezone: str = "UTC", **more: Any) -> Schedule:
    return schedule_from_json(json.dumps({"cron": expression, "timezone": timezone, **more}))


def every(duration: str, anchor: str, **more: Any) -> Schedule:
    return schedule_from_json(json.dumps({"every": duration, "anchor": anchor, **more}))


def at(text: str, **more: Any) -> Schedule:
    return schedule_from_json(json.dumps({"at": text, **more}))


def following(schedule: Schedule, after: str | datetime, count: int, job: UUID | None = None) -> list[str]:
    """The next `count` occurrences strictly after."""
    instant = utc(after) if isinstance(after, str) else after
    found: list[str] = []
    while len(found) < count and (occurrence := next_after(schedule, job, instant)) is not None:
        instant = occurrence.scheduled_for
        found.append(zulu(instant))
    return found


def inside(schedule: Schedule, after: str, until: str) -> list[str]:
    """Every occurrence in (after, until]."""
    instant, end, found = utc(after), utc(until), []
    while (occurrence := next_after(schedule, None, instant)) is not None and occurrence.scheduled_for <= end:
        instant = occurrence.scheduled_for
        found.append(zulu(instant))
    return found


def refused(schedule: dict[str, Any], now: datetime = NOW) -> tuple[str, str]:
    """The first refused field and why."""
    with pytest.raises(FieldErrors) as caught:
        parse_schedule(schedule, now=now)
    return caught.value.errors[0].field, caught.value.errors[0].detail


def later(instant: datetime, **amount: float) -> datetime:
    return instant + timedelta(**amount)


def seeded(seed: object) -> random.Random:
    """Chance that is the same in every run."""
    return random.Random(str(seed))  # noqa: S311
