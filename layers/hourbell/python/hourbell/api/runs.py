"""The operations of runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from hourbell.api.calls import Call, Reply
from hourbell.api.cursors import Listing
from hourbell.api.operations import PAGE, Operation, Query
from hourbell.api.strict_json import bad
from hourbell.api.views import run_json
from hourbell.domain.ids import decode
from hourbell.domain.instants import epoch_ms, from_epoch_ms, parse_instant
from hourbell.domain.run_state import RunState
from hourbell.services import runs
from hourbell.services.runs import Run
from hourbell.store.runs_read import RunFilter

STATES = tuple(state.value for state in RunState)

STATE = Query(
    name="state",
    description="runs that are only planned ahead are shown with `queued`, and left out otherwise",
    schema={"type": "string", "enum": list(STATES)},
)
INSTANT = {"type": "string", "format": "date-time"}

Before = tuple[datetime, UUID] | None


def list_runs(call: Call) -> Reply:
    """Latest occurrence first."""
    filters: dict[str, Any] = {"state": call.choice("state", STATES)}
    filters |= {name: call.one(name) for name in ("job", "target", "from", "to")}
    only = run_filter(filters)
    listing = Listing(name="runs", tenant_id=call.tenant_id, filters=filters)
    return run_page(
        call,
        listing,
        lambda before, limit: runs.list_runs(
            call.api.scheduler.database, call.tenant_id, only, before=before, limit=limit, now=call.now
        ),
    )


def get_run(call: Call) -> Reply:
    """With its attempts."""
    return tagged(read_run(call))


def read_run(call: Call) -> str:
    """The run that the path names, as it is shown."""
    return run_json(runs.get_run(call.api.scheduler.database, call.tenant_id, call.path_id("run", "run")))


def tagged(shown: str, *, status: int = 200) -> Reply:
    """A run with its ETag."""
    return Reply(status=status, body=shown, headers={"ETag": run_tag(shown)})


def run_tag(shown: str) -> str:
    """The ETag of a run. It has no version: whatever shows is another state of it."""
    return f'"{hashlib.sha256(shown.encode()).hexdigest()[:20]}"'


def run_page(call: Call, listing: Listing, read: Callable[[Before, int], list[Run]]) -> Reply:
    """A page of runs; ``read`` answers those that follow a position."""
    position, limit = call.position(listing), call.limit()
    before = None
    if position is not None:
        before = (from_epoch_ms(int(position[0])), UUID(hex=str(position[1])))
    return call.page(listing, read(before, limit + 1), limit=limit, encode=run_json, position=_position)


def _position(run: Run) -> list[int | str]:
    return [epoch_ms(run.stored.scheduled_for), run.stored.job_id.hex]


def run_filter(filters: dict[str, Any], *, under: str = "") -> RunFilter:
    """The filter behind `state`, `job`, `target`, `from`, `to`; errors name them below ``under``."""
    job, target, from_at, to_at = (filters[name] for name in ("job", "target", "from", "to"))
    by_id = target is not None and target.startswith("tgt_")
    only = RunFilter(
        state=filters["state"],
        job_id=None if job is None else decode("job", job, field=f"{under}job"),
        target_id=decode("tgt", target, field=f"{under}target") if by_id else None,
        target_name=None if by_id else target,
        from_at=None if from_at is None else parse_instant(from_at, field=f"{under}from"),
        to_at=None if to_at is None else parse_instant(to_at, field=f"{under}to"),
    )
    if only.from_at is not None and only.to_at is not None and only.from_at > only.to_at:
        raise bad(f"{under}to", "lies before from")
    return only


OPERATIONS = (
    Operation(
        method="GET",
        path="/v1/runs",
        name="listRuns",
        summary="List runs, latest occurrence first",
        handle=list_runs,
        scope="jobs:read",
        reply="list of Run",
        query=(
            STATE,
            Query(name="job", description="id of a job"),
            Query(name="target", description="name or id of a target"),
            Query(name="from", description="scheduled at this time or later", schema=INSTANT),
            Query(name="to", description="scheduled before this time", schema=INSTANT),
            *PAGE,
        ),
    ),
    Operation(
        method="GET",
        path="/v1/runs/{id}",
        name="getRun",
        summary="One run with its attempts",
        handle=get_run,
        scope="jobs:read",
        reply="Run",
        conditional=True,
        errors=(404,),
    ),
)
