"""Reaper: looks at every run whose ``wake_at`` has come."""

from __future__ import annotations

from functools import cache
from typing import Any

from hourbell.environment import make_database, make_lanes
from hourbell.observability import configure_logging, emit
from hourbell.services.reap_runs import reap_runs
from hourbell.settings import ScannerSettings

RESERVE_MS = 8_000


@cache
def wiring() -> tuple[ScannerSettings, Any, Any]:
    configure_logging()
    settings = ScannerSettings.from_env()
    return settings, make_database(settings), make_lanes(settings)


def handler(_event: dict[str, Any], context: Any) -> dict[str, Any]:
    settings, database, lanes = wiring()
    reaped = reap_runs(database, lanes, time_left=lambda: int(context.get_remaining_time_in_millis()) > RESERVE_MS)
    emit(settings.stage, {"RunsRecovered": reaped.sent, "RunsDead": reaped.dead})
    return {
        "looked_at": reaped.looked_at,
        "sent": reaped.sent,
        "crashed": reaped.crashed,
        "dead": reaped.dead,
    }
