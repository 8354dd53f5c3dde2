"""Loader: every hour that begins within two hours moves from the cold tier into the hot one."""

from __future__ import annotations

from functools import cache
from typing import Any

from hourbell.cold.patience import TICK
from hourbell.environment import make_cold_objects, make_database
from hourbell.observability import configure_logging, emit
from hourbell.services.promote_jobs import promote_jobs
from hourbell.settings import ColdSettings

# What is left of the invocation for the segment in hand, while S3 is slow, its chunk, and the release of the lease.
RESERVE_MS = 30_000


@cache
def wiring() -> tuple[ColdSettings, Any, Any]:
    configure_logging()
    settings = ColdSettings.from_env()
    return settings, make_database(settings), make_cold_objects(settings.cold_bucket, TICK)


def handler(_event: dict[str, Any], context: Any) -> dict[str, Any]:
    import tzdata

    settings, database, objects = wiring()
    promoted = promote_jobs(
        database,
        objects,
        owner=f"loader/{context.aws_request_id}",
        zone_data=tzdata.IANA_VERSION,
        time_left=lambda: int(context.get_remaining_time_in_millis()) > RESERVE_MS,
    )
    emit(settings.stage, {"LoaderHeartbeat": 1})
    if promoted.held_elsewhere:
        return {"held_elsewhere": True}
    emit(
        settings.stage,
        {
            "ColdJobsPromoted": promoted.jobs,
            "ColdHoursLate": promoted.late,
            "ColdSegmentsRefused": promoted.unread,
            "ColdSegmentsBroken": len(promoted.broken),
        },
    )
    return {
        "jobs": promoted.jobs,
        "hours": promoted.hours,
        "late": promoted.late,
        "broken": promoted.broken,
        "drained": promoted.drained,
    }
