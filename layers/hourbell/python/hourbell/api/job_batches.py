"""The operation that creates many jobs at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hourbell.api import strict_json
from hourbell.api.calls import MAX_BATCH_BODY_BYTES, MAX_PAGE_BYTES, Call, Reply
from hourbell.api.operations import Operation
from hourbell.api.problems import TooLargeError, problem_of
from hourbell.api.views import Raw, encode_json, job_json
from hourbell.domain.errors import FieldError, FieldErrors
from hourbell.services.jobs import JobDefinition
from hourbell.services.view_jobs import Job

if TYPE_CHECKING:
    from hourbell.domain.schedule import Schedule

# What a reply adds to each job that was sent, at most.
_REPLY_OVERHEAD = 1_500
_PLACE = re.compile(r"jobs\.([0-9]+)(?=\.|$)")


def create_jobs(call: Call) -> Reply:
    """All or none; with `"atomic": false` each for itself, and `items` are results: status, and job or errors."""
    from hourbell.api import models
    from hourbell.services import create_jobs as service

    try:
        text, value = call.json_object(limit=MAX_BATCH_BODY_BYTES)
    except FieldErrors as error:
        raise FieldErrors(FieldError(_PLACE.sub(r"jobs[\1]", one.field), one.detail) for one in error.errors) from None
    body = models.validated(models.JobBatchIn, value)
    definitions = list(_definitions(call, body.jobs, strict_json.elements(strict_json.members(text)["jobs"])))
    made = service.create_jobs(call.api.scheduler, call.tenant_id, definitions, atomic=body.atomic, now=call.now)
    shown = [_shown(one, body.atomic) for one in made]
    return Reply(status=201, body=encode_json({"items": shown}))


def _definitions(call: Call, values: list[Any], texts: list[str]) -> Iterator[JobDefinition | FieldErrors]:
    from hourbell.api import models
    from hourbell.services.create_jobs import item_name

    reply_bytes = sum(len(json.dumps(text)) + _REPLY_OVERHEAD for text in texts)
    if reply_bytes > MAX_PAGE_BYTES:
        raise TooLargeError("the reply would be larger than any may be; send these jobs in several calls")
    schedules: dict[str, Schedule] = {}
    for index, (value, text) in enumerate(zip(values, texts, strict=True)):
        written = strict_json.members(text) if isinstance(value, dict) else {}
        schedule = written.get("schedule", "")
        try:
            definition = models.job_definition(
                models.validated(models.JobIn, value),
                value,
                strict_json.compact(written.get("payload", "null")),
                check_target=call.check_target,
                now=call.now,
                # What is written alike is read once: many jobs of a batch ring at the same times.
                schedule=schedules.get(schedule),
            )
            schedules[schedule] = definition.schedule
            yield definition
        except (FieldError, FieldErrors) as error:
            yield FieldErrors(_placed(item_name(index), one) for one in error.errors)


def _placed(item: str, error: FieldError) -> FieldError:
    return FieldError(item, error.detail) if error.field == strict_json.BODY else error.under(item)


def _shown(one: Job | Exception, atomic: bool) -> Any:
    if isinstance(one, Job):
        job = Raw(job_json(one))
        return job if atomic else {"status": 201, "job": job}
    problem = problem_of(one)
    errors = [{"field": field, "detail": detail} for field, detail in problem.errors]
    return {"status": problem.status, "errors": errors}


OPERATIONS = (
    Operation(
        method="POST",
        path="/v1/jobs/batch",
        name="createJobs",
        summary="Create up to 1,000 jobs",
        handle=create_jobs,
        scope="jobs:write",
        status=201,
        body="JobBatchIn",
        reply="JobBatch",
        errors=(409,),
    ),
)
