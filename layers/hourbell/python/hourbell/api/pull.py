"""The operation by which workers outside fetch the runs of a target of kind ``pull``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hourbell.api.calls import Call, Reply
from hourbell.api.operations import Operation
from hourbell.api.views import Raw, encode_json
from hourbell.domain.ids import decode, encode
from hourbell.domain.instants import format_instant

if TYPE_CHECKING:
    from hourbell.store.executions import LeasedRun


def lease_runs(call: Call) -> Reply:
    """The database's clock decides what is due."""
    from hourbell.api import models
    from hourbell.services.pull_runs import pull_runs

    _, value = call.json_object()
    body = models.validated(models.LeaseIn, value)
    found = pull_runs(
        call.api.scheduler.database,
        call.tenant_id,
        decode("tgt", body.target, field="target") if body.target.startswith("tgt_") else body.target,
        wait=models.lease_wait(body),
        limit=body.max,
        lease=call.api.lease,
        pause=call.api.pause,
    )
    return Reply(body=encode_json({"runs": [_leased(run) for run in found]}))


def _leased(run: LeasedRun) -> dict[str, object]:
    return {
        "run_id": encode("run", run.run_id),
        "job_id": encode("job", run.job_id),
        "scheduled_for": format_instant(run.scheduled_for),
        "fire_at": format_instant(run.fire_at),
        "attempt": run.attempt,
        "lease_token": str(run.token),
        "lease_expires_at": format_instant(run.lease_expires_at),
        "payload": Raw(run.payload),
        "progress": run.progress,
    }


OPERATIONS = (
    Operation(
        method="POST",
        path="/v1/runs/lease",
        name="leaseRuns",
        summary="Fetch runs of a target of kind pull, oldest first; waits for the first",
        handle=lease_runs,
        scope="runs:write",
        body="LeaseIn",
        reply="LeasedRuns",
        waits=True,
    ),
)
