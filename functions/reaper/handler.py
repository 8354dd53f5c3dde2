"""Reaper: looks at every run whose ``wake_at`` has come."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from hourbell.environment import make_bus, make_database, make_lanes
from hourbell.observability import configure_logging, emit
from hourbell.services.quotas import fold_job_changes
from hourbell.services.reap_runs import reap_runs
from hourbell.services.tell_events import tell_events
from hourbell.settings import ReaperSettings
from hourbell.store.pulls import measure_pulled
from hourbell.store.recovery import count_overdue

RESERVE_MS = 8_000

# Runs that wait to be pulled, or for a worker, are counted up to here.
WAITING_LIMIT = 100_000
# A run of a lane that should have started so long ago waits for a worker that does not come.
OVERDUE = timedelta(minutes=1)


@cache
def wiring() -> tuple[ReaperSettings, Any, Any, Any]:
    configure_logging()
    settings = ReaperSettings.from_env()
    return settings, make_database(settings), make_lanes(settings), make_bus(settings.event_bus)


def handler(_event: dict[str, Any], context: Any) -> dict[str, Any]:
    settings, database, lanes, bus = wiring()

    def time_left() -> bool:
        return int(context.get_remaining_time_in_millis()) > RESERVE_MS

    reaped = reap_runs(database, lanes, time_left=time_left)
    told = tell_events(database, bus, time_left=time_left)
    fold_job_changes(database)
    waiting = database.run(lambda connection: measure_pulled(connection, limit=WAITING_LIMIT))
    before = datetime.now(UTC) - OVERDUE
    overdue = database.run(lambda connection: count_overdue(connection, before=before, limit=WAITING_LIMIT))
    emit(
        settings.stage,
        {
            "RunsRecovered": reaped.sent,
            "RunsOverdue": sum(overdue.values()),
            # Here and nowhere else: whoever lets a run die writes an event in the same transaction.
            "RunsDead": told.sent["run.dead"],
            "JobsPaused": told.sent["job.paused"],
            "EventOldestSeconds": told.oldest_seconds,
            "PullRunsWaiting": waiting.runs,
            "PullOldestSeconds": waiting.oldest_seconds,
        },
    )
    return {
        "looked_at": reaped.looked_at,
        "sent": reaped.sent,
        "crashed": reaped.crashed,
        "dead": reaped.dead,
        "told": told.sent.total(),
    }
