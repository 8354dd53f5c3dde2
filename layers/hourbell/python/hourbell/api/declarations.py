"""The operation that declares a job by its name. What carries it out is imported by its requests alone."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote

from hourbell.api import strict_json
from hourbell.api.calls import Call, Reply
from hourbell.api.operations import Operation, Query
from hourbell.api.strict_json import bad
from hourbell.api.views import encode_json, etag, job_json
from hourbell.domain.errors import FieldError, FieldErrors
from hourbell.domain.run_state import JobState
from hourbell.services.jobs import JobDefinition, schedule_text
from hourbell.store.jobs import StoredJob


def declare_job(call: Call) -> Reply:
    """The body is the whole job: what it does not name has its default, but for `paused`, which then stays as it is."""
    from hourbell.api import models
    from hourbell.services import declare_job as service

    text, value = call.json_object()
    name = _name(call, value)
    given = {**value, "name": name}
    model = models.validated(models.JobIn, given)
    if model.schedule.past == "run_now":
        raise bad("schedule.past", "cannot be declared: the job would run again each time")
    payload = strict_json.compact(strict_json.members(text).get("payload", "null"))

    def define(stored: StoredJob | None) -> JobDefinition:
        shown = given if stored is None else {**given, "schedule": _anchored(given["schedule"], stored)}
        definition = models.job_definition(
            model,
            shown,
            payload,
            check_target=call.check_target,
            now=call.now,
            schedule=None if stored is None else _present_schedule(shown["schedule"], stored),
        )
        if stored is None or "paused" in given:
            return definition
        return replace(definition, paused=stored.state == JobState.PAUSED)

    declared = service.declare_job(
        call.api.scheduler,
        call.tenant_id,
        name,
        define,
        expected=call.expected(),
        may_create="if-match" not in call.headers,
        dry_run=call.choice("dry_run", ("true", "false")) == "true",
        now=call.now,
    )
    if declared.job is None:
        return Reply(body=encode_json({"action": declared.action, "changes": list(declared.changes)}))
    status = 201 if declared.action is service.Action.CREATE else 200
    return Reply(status=status, body=job_json(declared.job), headers={"ETag": etag(declared.job.stored.version)})


def _name(call: Call, value: dict[str, Any]) -> str:
    """The name in the path, which some gateways decode and others do not; a name in the body settles it."""
    path, body = call.path["name"], value.get("name")
    try:
        decoded = unquote(path, errors="strict")
    except UnicodeDecodeError:
        raise bad("name", "is not UTF-8") from None
    if body is None:
        return decoded
    if body not in (path, decoded) and (not isinstance(body, str) or quote(body, safe="") != path):
        raise bad("name", "is not the name in the path")
    return str(body)


def _anchored(schedule: Any, stored: StoredJob) -> Any:
    """An interval counts on from where it did, unless it says otherwise."""
    anchor = json.loads(stored.schedule).get("anchor")
    return {**schedule, "anchor": schedule.get("anchor") or anchor} if anchor and schedule.get("every") else schedule


def _present_schedule(schedule: Any, stored: StoredJob) -> Any:
    """The job's schedule, where it is the declared one; it is not judged again, and its times may be past by now."""
    from hourbell.domain.schedule import parse_schedule

    try:
        found = parse_schedule(schedule, now=stored.created_at)
    except (FieldError, FieldErrors):
        return None
    return found if schedule_text(found) == stored.schedule else None


OPERATIONS = (
    Operation(
        method="PUT",
        path="/v1/jobs/by-name/{name}",
        name="declareJob",
        summary="Declare a job: create the one of this name, or bring it to what the body says",
        handle=declare_job,
        scope="jobs:write",
        may_create=True,
        body="JobIn",
        reply="Job or Declaration",
        query=(
            Query(
                name="dry_run",
                description="only tell what would be done",
                schema={"type": "boolean", "default": False},
            ),
        ),
        conditional=True,
        errors=(409, 412),
    ),
)
