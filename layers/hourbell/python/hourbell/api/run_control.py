"""The operations by which targets end their own runs, and owners retry, cancel and redrive them.

Few requests are for these: what carries them out is imported by those that are.
"""

from __future__ import annotations

from uuid import UUID

from hourbell.api import strict_json
from hourbell.api.calls import Call, Reply
from hourbell.api.operations import Operation
from hourbell.api.runs import read_run, run_filter, run_tag, tagged
from hourbell.api.strict_json import bad
from hourbell.api.views import encode_json
from hourbell.domain.instants import format_instant
from hourbell.domain.run_state import RunState
from hourbell.services.errors import VersionError

# Progress and results are notes, not payloads: they travel in a header, and with every read of the run.
PROGRESS_MAX_BYTES = 4_096
RESULT_MAX_BYTES = 65_536
ERROR_MAX_CHARACTERS = 500


def heartbeat_run(call: Call) -> Reply:
    """Whoever executes a run keeps its lease."""
    from hourbell.api import models
    from hourbell.services import control_runs

    text, value = call.json_object()
    body = models.validated(models.HeartbeatIn, value)
    progress = _member(text, "progress", PROGRESS_MAX_BYTES)
    until = control_runs.heartbeat_run(
        call.api.scheduler.database,
        call.tenant_id,
        _run_id(call),
        token=_token(body.lease_token),
        progress=progress,
        lease=call.api.lease,
    )
    return Reply(body=encode_json({"lease_expires_at": format_instant(until)}))


def complete_run(call: Call) -> Reply:
    """Whoever executes a run ends it."""
    from hourbell.api import models
    from hourbell.services import control_runs

    text, value = call.json_object()
    body = models.validated(models.CompleteIn, value)
    control_runs.complete_run(
        call.api.scheduler.database,
        call.api.scheduler.lanes,
        call.tenant_id,
        _run_id(call),
        token=_token(body.lease_token),
        result=_member(text, "result", RESULT_MAX_BYTES),
        now=call.now,
    )
    return Reply(body=read_run(call))


def fail_run(call: Call) -> Reply:
    """Whoever executes a run gives up; the job's retry policy decides what follows."""
    from hourbell.api import models
    from hourbell.services import control_runs

    _, value = call.json_object()
    body = models.validated(models.FailIn, value)
    control_runs.fail_run(
        call.api.scheduler.database,
        call.api.scheduler.lanes,
        call.tenant_id,
        _run_id(call),
        token=_token(body.lease_token),
        error=body.error[:ERROR_MAX_CHARACTERS],
        retryable=body.retryable,
        now=call.now,
    )
    return Reply(body=read_run(call))


def retry_run(call: Call) -> Reply:
    """The same run id, a full set of attempts."""
    from hourbell.services import control_runs

    _empty(call)
    _check_seen(call)
    scheduler = call.api.scheduler
    control_runs.retry_run(scheduler.database, scheduler.lanes, call.tenant_id, _run_id(call), now=call.now)
    return tagged(read_run(call), status=202)


def cancel_run(call: Call) -> Reply:
    """A worker that has it stops at its next heartbeat."""
    from hourbell.services import control_runs

    _empty(call)
    _check_seen(call)
    scheduler = call.api.scheduler
    control_runs.cancel_run(scheduler.database, scheduler.lanes, call.tenant_id, _run_id(call), now=call.now)
    return tagged(read_run(call))


def redrive_runs(call: Call) -> Reply:
    """Oldest first."""
    from hourbell.api import models
    from hourbell.services import control_runs

    _, value = call.json_object()
    body = models.validated(models.RedriveIn, value)
    wanted = body.filter or models.validated(models.RedriveFilterIn, {})
    filters = {"state": None, "job": wanted.job, "target": wanted.target, "from": wanted.from_, "to": wanted.to}
    found = control_runs.redrive_runs(
        call.api.scheduler.database,
        call.api.scheduler.lanes,
        call.tenant_id,
        run_filter(filters, under="filter."),
        state=RunState(wanted.state),
        dry_run=body.dry_run,
        now=call.now,
    )
    return Reply(body=encode_json({"dry_run": body.dry_run, "runs": found.runs, "more": found.more}))


def _run_id(call: Call) -> UUID:
    return call.path_id("run", "run")


def _token(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise bad("lease_token", "is not a lease token") from None


def _member(text: str, name: str, limit: int) -> str | None:
    """A member as it is spelled; null is the same as absent."""
    value = strict_json.members(text).get(name)
    if value is None or value == "null":
        return None
    compact = strict_json.compact(value)
    if len(compact.encode()) > limit:
        raise bad(name, f"has more than {limit} bytes")
    return compact


def _empty(call: Call) -> None:
    from hourbell.api import models

    if call.raw_body:
        models.validated(models.EmptyIn, call.json_object()[1])


def _check_seen(call: Call) -> None:
    """Pass when the run is as ``If-Match`` says; it stays so until the request's transaction ends."""
    from hourbell.services import control_runs

    tags = call.expected_tags()
    if tags is None:
        return
    control_runs.hold_run(call.api.scheduler.database, call.tenant_id, _run_id(call))
    if run_tag(read_run(call)) not in tags:
        raise VersionError("has changed")


OPERATIONS = (
    Operation(
        method="POST",
        path="/v1/runs/{id}/heartbeat",
        name="heartbeatRun",
        summary="Keep the lease of a run that is being executed, and report progress",
        handle=heartbeat_run,
        scope="runs:write",
        body="HeartbeatIn",
        reply="Lease",
        errors=(404, 409),
    ),
    Operation(
        method="POST",
        path="/v1/runs/{id}/complete",
        name="completeRun",
        summary="End a run as succeeded",
        handle=complete_run,
        scope="runs:write",
        body="CompleteIn",
        reply="Run",
        errors=(404, 409),
    ),
    Operation(
        method="POST",
        path="/v1/runs/{id}/fail",
        name="failRun",
        summary="End an attempt as failed",
        handle=fail_run,
        scope="runs:write",
        body="FailIn",
        reply="Run",
        errors=(404, 409),
    ),
    Operation(
        method="POST",
        path="/v1/runs/{id}/retry",
        name="retryRun",
        summary="Start an ended run over",
        handle=retry_run,
        scope="runs:write",
        status=202,
        body="EmptyIn",
        body_optional=True,
        reply="Run",
        conditional=True,
        errors=(404, 409, 412),
    ),
    Operation(
        method="POST",
        path="/v1/runs/{id}/cancel",
        name="cancelRun",
        summary="Cancel a run that has not ended",
        handle=cancel_run,
        scope="runs:write",
        body="EmptyIn",
        body_optional=True,
        reply="Run",
        conditional=True,
        errors=(404, 409, 412),
    ),
    Operation(
        method="POST",
        path="/v1/runs/redrive",
        name="redriveRuns",
        summary="Start over every dead (or cancelled, or skipped) run that matches, up to 10,000 a call",
        handle=redrive_runs,
        scope="runs:write",
        body="RedriveIn",
        reply="Redrive",
    ),
)
