"""The operation that runs what has gone by. Few requests are for it: what carries it out is imported by those."""

from __future__ import annotations

from hourbell.api.calls import Call, Reply
from hourbell.api.operations import Operation
from hourbell.api.views import encode_json
from hourbell.domain.ids import encode
from hourbell.domain.instants import format_instant, parse_instant


def backfill_job(call: Call) -> Reply:
    """One run per occurrence; those that have one keep it."""
    from hourbell.api import models
    from hourbell.services import backfill_job as service

    body = models.validated(models.BackfillIn, call.json_object()[1])
    found = service.backfill_job(
        call.api.scheduler,
        call.tenant_id,
        call.path_id("job", "job"),
        service.Span(parse_instant(body.from_, field="from"), parse_instant(body.to, field="to")),
        dry_run=body.dry_run,
        cold_job=call.cold_job,
        now=call.now,
    )
    runs = sum(one.existing is None for one in found)
    occurrences = [
        {
            "scheduled_for": format_instant(one.scheduled_for),
            "run_id": encode("run", one.run_id),
            "existing": one.existing,
        }
        for one in found
    ]
    reply = {"dry_run": body.dry_run, "runs": runs, "existing": len(found) - runs, "occurrences": occurrences}
    return Reply(body=encode_json(reply))


OPERATIONS = (
    Operation(
        method="POST",
        path="/v1/jobs/{id}/backfill",
        name="backfillJob",
        summary="Run occurrences that have gone by without a run, up to 10,000 a call",
        handle=backfill_job,
        addresses_job=True,
        scope="runs:write",
        body="BackfillIn",
        reply="Backfill",
        errors=(404, 409),
    ),
)
