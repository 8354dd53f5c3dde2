"""The operation that tells a tenant how it is doing. What carries it out is imported by its requests alone."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from hourbell.api.calls import Call, Reply
from hourbell.api.operations import Operation
from hourbell.api.views import encode_json
from hourbell.domain.cold import hour_start
from hourbell.domain.instants import format_instant
from hourbell.domain.run_state import JobState, Lane, RunState

if TYPE_CHECKING:
    from hourbell.services.stats import Stats

_PERCENTILES = ("p50", "p95", "p99")


def get_stats(call: Call) -> Reply:
    """Of the caller's own jobs and runs; runs are those whose time came in the last hour."""
    from hourbell.services import stats as service

    found = service.get_stats(call.api.scheduler.database, call.tenant_id, now=call.now)
    due = found.oldest_due_at
    age_ms = None if due is None else (call.now - due) // timedelta(milliseconds=1)
    return Reply(
        body=encode_json(
            {
                "at": format_instant(call.now),
                "jobs": {
                    **{state: found.jobs.get(state, 0) for state in JobState if state is not JobState.DELETED},
                    "capped": found.jobs_capped,
                },
                "oldest_due_age_ms": age_ms,
                "runs": {
                    "since": format_instant(
                        found.runs.since if found.runs_capped and found.runs.since else call.now - service.SPAN
                    ),
                    **{state: found.runs.states.get(state, 0) for state in RunState},
                    "capped": found.runs_capped,
                },
                "lateness_ms": _lateness(found),
                "queues": {lane: found.runs.waiting.get(lane, 0) for lane in Lane},
                "cold": {
                    "hours": [
                        {"hour": format_instant(hour_start(due_hour)), "jobs": jobs}
                        for due_hour, jobs in found.cold.items()
                    ],
                    "capped": found.cold_capped,
                },
            }
        )
    )


def _lateness(found: Stats) -> dict[str, int | None]:
    percentiles = found.runs.percentiles
    if percentiles is None:
        return dict.fromkeys(_PERCENTILES)
    return {name: round(value) for name, value in zip(_PERCENTILES, percentiles, strict=True)}


OPERATIONS = (
    Operation(
        method="GET",
        path="/v1/stats",
        name="getStats",
        summary="How many jobs and runs there are in which state, what waits, and how late runs start",
        handle=get_stats,
        scope="jobs:read",
        reply="Stats",
    ),
)
