"""Freezer: intake becomes segments, small segments become larger ones, and what is over is removed."""

from __future__ import annotations

from functools import cache
from typing import Any

from hourbell.cold.patience import TICK
from hourbell.environment import make_cold_objects, make_database
from hourbell.observability import configure_logging, emit
from hourbell.services.freeze_jobs import freeze_jobs
from hourbell.settings import ColdSettings

# What is left of the invocation for the segments in hand, while S3 is slow, and the release of the lease.
RESERVE_MS = 35_000


@cache
def wiring() -> tuple[ColdSettings, Any, Any]:
    configure_logging()
    settings = ColdSettings.from_env()
    return settings, make_database(settings), make_cold_objects(settings.cold_bucket, TICK)


def handler(_event: dict[str, Any], context: Any) -> dict[str, Any]:
    settings, database, objects = wiring()
    frozen = freeze_jobs(
        database,
        objects,
        owner=f"freezer/{context.aws_request_id}",
        time_left=lambda: int(context.get_remaining_time_in_millis()) > RESERVE_MS,
    )
    if frozen.held_elsewhere:
        return {"held_elsewhere": True}
    emit(
        settings.stage,
        {
            "ColdJobsFrozen": frozen.jobs,
            "ColdSegmentsWritten": frozen.segments,
            "ColdSegmentsRefused": frozen.unstored + frozen.unread,
            "ColdSegmentsBroken": len(frozen.broken),
        },
    )
    return {
        "jobs": frozen.jobs,
        "segments": frozen.segments,
        "merged": frozen.merged,
        "removed": frozen.removed,
        "drained": frozen.drained,
    }
