"""Replanner: after a release with newer zone data, puts jobs where it says. Event: ``{}`` or ``{"force": true}``."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

from hourbell.environment import make_database
from hourbell.observability import configure_logging, emit
from hourbell.services.replan_jobs import replan_jobs
from hourbell.settings import SchemaSettings

RESERVE_MS = 10_000


@cache
def wiring() -> tuple[SchemaSettings, Any]:
    configure_logging()
    settings = SchemaSettings.from_env()
    return settings, make_database(settings)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    import tzdata

    settings, database = wiring()
    replanned = replan_jobs(
        database,
        version=tzdata.IANA_VERSION,
        now=datetime.now(UTC),
        time_left=lambda: int(context.get_remaining_time_in_millis()) > RESERVE_MS,
        force=bool(event.get("force")),
    )
    emit(settings.stage, {"JobsReplanned": replanned.moved})
    return {"jobs": replanned.looked_at, "moved": replanned.moved, "done": replanned.done}
