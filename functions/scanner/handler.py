"""Scanner: claims what is due in its shard range. Event: ``{"first_shard": 0, "last_shard": 63}``."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import Any

from hourbell.environment import make_database, make_lanes
from hourbell.observability import configure_logging, emit
from hourbell.services.reap_runs import reap_runs
from hourbell.services.scan_shards import ScanRange, scan_shards
from hourbell.settings import ScannerSettings

# What is left of the invocation for sending the last batch, recovery and the release of the lease.
RESERVE_MS = 8_000


@cache
def wiring() -> tuple[ScannerSettings, Any, Any]:
    configure_logging()
    settings = ScannerSettings.from_env()
    return settings, make_database(settings), make_lanes(settings)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    settings, database, lanes = wiring()
    shards = ScanRange(first_shard=int(event["first_shard"]), last_shard=int(event["last_shard"]))

    def time_left() -> bool:
        return int(context.get_remaining_time_in_millis()) > RESERVE_MS

    scanned = scan_shards(
        database,
        lanes,
        shards,
        owner=f"scanner/{context.aws_request_id}",
        horizon=timedelta(seconds=settings.horizon_seconds),
        time_left=time_left,
    )
    emit(settings.stage, {"ScannerHeartbeat": 1, "RunsClaimed": scanned.runs, "JobsInvalid": scanned.broken})
    if scanned.held_elsewhere:
        return {"held_elsewhere": True}
    reaped = reap_runs(database, lanes, time_left=time_left)
    emit(settings.stage, {"RunsRecovered": reaped.sent})
    return {
        "jobs": scanned.claimed_jobs,
        "runs": scanned.runs,
        "drained": scanned.drained,
        "recovered": reaped.sent,
    }
