"""Reaper: looks at every run whose ``wake_at`` has come."""

from __future__ import annotations

from functools import cache
from typing import Any

from hourbell.environment import make_database, make_lanes
from hourbell.observability import configure_logging, emit
from hourbell.services.reap_runs import reap_runs
from hourbell.settings import ScannerSettings
from hourbell.store.pulls import measure_pulled

RESERVE_MS = 8_000

# Runs that wait to be pulled are counted up to here.
PULLED_LIMIT = 100_000


@cache
def wiring() -> tuple[ScannerSettings, Any, Any]:
    configure_logging()
    settings = ScannerSettings.from_env()
    return settings, make_database(settings), make_lanes(settings)


def handler(_event: dict[str, Any], context: Any) -> dict[str, Any]:
    settings, database, lanes = wiring()
    reaped = reap_runs(database, lanes, time_left=lambda: int(context.get_remaining_time_in_millis()) > RESERVE_MS)
    emit(settings.stage, {"RunsRecovered": reaped.sent, "RunsDead": reaped.dead})
    waiting = database.run(lambda connection: measure_pulled(connection, limit=PULLED_LIMIT))
    emit(settings.stage, {"PullRunsWaiting": waiting.runs, "PullOldestSeconds": waiting.oldest_seconds})
    return {
        "looked_at": reaped.looked_at,
        "sent": reaped.sent,
        "crashed": reaped.crashed,
        "dead": reaped.dead,
    }
