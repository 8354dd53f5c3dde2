"""The operations of jobs.

``api.models`` is imported by the requests that have a body: pydantic is a third of what a cold start would cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from hourbell.api import cold_lists, strict_json
from hourbell.api.calls import Call, Reply
from hourbell.api.cursors import Listing
from hourbell.api.job_search import like_prefix, search_terms
from hourbell.api.operations import PAGE, Operation, Query
from hourbell.api.runs import STATE, STATES, run_page
from hourbell.api.views import encode_json, etag, job_json, job_mapping, preview_json, run_json, stretch_json
from hourbell.domain.cold import Tier
from hourbell.domain.ids import decode
from hourbell.domain.instants import epoch_ms, from_epoch_ms, parse_instant
from hourbell.domain.limits import PREVIEW_MAX
from hourbell.domain.run_state import JobState
from hourbell.services import jobs, runs, view_jobs
from hourbell.services.jobs import JobDefinition
from hourbell.services.view_jobs import Job, JobPage
from hourbell.store.jobs import StoredJob

if TYPE_CHECKING:
    from hourbell.store.job_lists import JobFilter

_SHOWN_STATES = tuple(state.value for state in JobState if state is not JobState.DELETED)


def create_job(call: Call) -> Reply:
    """Everything is checked here: a job that was accepted can fire."""
    from hourbell.api import models

    text, value = call.json_object()
    definition = models.job_definition(
        models.validated(models.JobIn, value),
        value,
        strict_json.compact(strict_json.members(text).get("payload", "null")),
        check_target=call.check_target,
        now=call.now,
    )
    return _reply(jobs.create_job(call.api.scheduler, call.tenant_id, definition, now=call.now), status=201)


def list_jobs(call: Call) -> Reply:
    """Newest first; those of the hot tier, and by its name one of either."""
    tier = call.choice("tier", cold_lists.TIERS)
    if tier == Tier.COLD:
        return cold_lists.list_cold_jobs(call)
    filters: dict[str, Any] = {
        "state": call.choice("state", _SHOWN_STATES),
        "tag": sorted(call.query.get("tag", ())),
        "name": call.one("name"),
        "name_prefix": call.one("name_prefix"),
        "due_before": call.one("due_before"),
        "q": call.one("q"),
        "target": call.one("target"),
    }
    listing = Listing(name="jobs", tenant_id=call.tenant_id, filters={**filters, "tier": tier})
    position, limit = call.position(listing), call.limit()
    page = view_jobs.list_jobs(
        call.api.scheduler,
        call.tenant_id,
        _filter(filters),
        before_id=None if position is None else UUID(hex=str(position[0])),
        limit=limit + 1,
        now=call.now,
    )
    name = filters["name"]
    if name is not None and tier is None and position is None and not page.jobs:
        page = JobPage(jobs=cold_lists.find_by_name(call, name, filters))
    return call.page(
        listing,
        page.jobs,
        limit=limit,
        encode=job_json,
        position=lambda job: [job.stored.job_id.hex],
        then=None if page.through_id is None else [page.through_id.hex],
    )


def get_job(call: Call) -> Reply:
    """A deleted job is gone."""
    return _reply(
        view_jobs.get_job(call.api.scheduler, call.tenant_id, _job_id(call), cold_job=call.cold_job, now=call.now)
    )


def edit_job(call: Call) -> Reply:
    """Merges (RFC 7396) the body into the job, and checks the whole as if it were created."""
    text, _ = call.json_object()

    def revise(stored: StoredJob) -> JobDefinition:
        return _revised(call, stored, text)

    return _reply(
        jobs.edit_job(
            call.api.scheduler,
            call.tenant_id,
            _job_id(call),
            revise,
            expected=call.expected(),
            cold_job=call.cold_job,
            now=call.now,
        )
    )


def delete_job(call: Call) -> Reply:
    """Its runs stay on record."""
    jobs.delete_job(
        call.api.scheduler,
        call.tenant_id,
        _job_id(call),
        expected=call.expected(),
        cold_job=call.cold_job,
        now=call.now,
    )
    return Reply(status=204)


def pause_job(call: Call) -> Reply:
    """Takes effect at once, also for runs that wait in a lane."""
    from hourbell.api import models
    from hourbell.services import pause_jobs

    model = models.validated(models.PauseIn, call.json_object(optional=True)[1])
    return _reply(
        pause_jobs.pause_job(
            call.api.scheduler,
            call.tenant_id,
            _job_id(call),
            note=model.note,
            expected=call.expected(),
            cold_job=call.cold_job,
            now=call.now,
        )
    )


def resume_job(call: Call) -> Reply:
    """Goes on after now, or catches up with the pause."""
    from hourbell.api import models
    from hourbell.services import pause_jobs

    model = models.validated(models.ResumeIn, call.json_object(optional=True)[1])
    return _reply(
        pause_jobs.resume_job(
            call.api.scheduler,
            call.tenant_id,
            _job_id(call),
            missed=pause_jobs.Missed(model.missed),
            expected=call.expected(),
            cold_job=call.cold_job,
            now=call.now,
        )
    )


def skip_next(call: Call) -> Reply:
    """Again: the one after it."""
    from hourbell.api import models
    from hourbell.services import skip_jobs

    models.validated(models.EmptyIn, call.json_object(optional=True)[1])
    return _reply(
        skip_jobs.skip_next(
            call.api.scheduler,
            call.tenant_id,
            _job_id(call),
            expected=call.expected(),
            cold_job=call.cold_job,
            now=call.now,
        )
    )


def trigger_job(call: Call) -> Reply:
    """Also for a paused job; the schedule takes no notice."""
    from hourbell.api import models

    text, value = call.json_object(optional=True)
    models.validated(models.TriggerIn, value)
    payload = strict_json.members(text).get("payload")
    run = runs.trigger_job(
        call.api.scheduler.database,
        call.api.scheduler.lanes,
        call.tenant_id,
        _job_id(call),
        payload=None if payload is None else models.check_payload(strict_json.compact(payload)),
        cold_job=call.cold_job,
        now=call.now,
    )
    return Reply(status=202, body=run_json(run))


def list_upcoming(call: Call) -> Reply:
    """By the schedule alone, paused or not."""
    count = call.number("count", 10, maximum=PREVIEW_MAX)
    found = view_jobs.list_upcoming(
        call.api.scheduler, call.tenant_id, _job_id(call), count=count, cold_job=call.cold_job, now=call.now
    )
    return Reply(body=preview_json(found.occurrences, found.description))


def list_job_runs(call: Call) -> Reply:
    """Latest occurrence first."""
    job_id, state = _job_id(call), call.choice("state", STATES)
    listing = Listing(name="job-runs", tenant_id=call.tenant_id, filters={"job": job_id.hex, "state": state})
    return run_page(
        call,
        listing,
        lambda before, limit: runs.list_job_runs(
            call.api.scheduler.database,
            call.tenant_id,
            job_id,
            state=state,
            before=before,
            limit=limit,
            cold_job=call.cold_job,
            now=call.now,
        ),
    )


def list_missed(call: Call) -> Reply:
    """Latest first."""
    job_id = _job_id(call)
    listing = Listing(name="missed", tenant_id=call.tenant_id, filters={"job": job_id.hex})
    position, limit = call.position(listing), call.limit()
    found = runs.list_missed(
        call.api.scheduler.database,
        call.tenant_id,
        job_id,
        before=None if position is None else from_epoch_ms(int(position[0])),
        limit=limit + 1,
        cold_job=call.cold_job,
    )
    return call.page(
        listing,
        found,
        limit=limit,
        encode=stretch_json,
        position=lambda stretch: [epoch_ms(stretch.first_scheduled_for)],
    )


def preview_schedule(call: Call) -> Reply:
    """What a schedule would do, before there is a job."""
    from hourbell.api import models
    from hourbell.domain.description import describe
    from hourbell.domain.preview import preview
    from hourbell.domain.schedule import parse_schedule

    value = call.json_object()[1]
    model = models.validated(models.PreviewIn, value)
    after = call.now if model.after is None else parse_instant(model.after, field="after")
    schedule = parse_schedule(value["schedule"], now=min(after, call.now))
    found = preview(schedule, job_id=None, after=after, count=model.count)
    return Reply(body=preview_json(found, describe(schedule, job_id=None)))


def _reply(job: Job, *, status: int = 200) -> Reply:
    return Reply(status=status, body=job_json(job), headers={"ETag": etag(job.stored.version)})


def _job_id(call: Call) -> UUID:
    return call.path_id("job", "job")


def _filter(filters: dict[str, Any]) -> JobFilter:
    from hourbell.store.job_lists import JobFilter

    target, due_before = filters["target"], filters["due_before"]
    by_id = target is not None and target.startswith("tgt_")
    return JobFilter(
        state=filters["state"],
        name=filters["name"],
        name_pattern=None if filters["name_prefix"] is None else like_prefix(filters["name_prefix"]),
        terms=search_terms(filters["q"], filters["tag"]),
        due_before=None if due_before is None else parse_instant(due_before, field="due_before"),
        target_id=decode("tgt", target, field="target") if by_id else None,
        target_name=None if by_id else target,
    )


def _revised(call: Call, stored: StoredJob, patch_text: str) -> JobDefinition:
    from hourbell.api import models
    from hourbell.domain.schedule import schedule_from_json

    present = encode_json({**job_mapping(stored), "paused": stored.state == JobState.PAUSED})
    merged_text = strict_json.merge(present, patch_text)
    merged = strict_json.parse(merged_text)
    before = strict_json.parse(present)
    same_schedule = merged.get("schedule") == before["schedule"]
    same_target = merged.get("target") == before["target"]
    return models.job_definition(
        models.validated(models.JobIn, merged),
        merged,
        strict_json.members(merged_text).get("payload", "null"),
        check_target=call.check_target,
        now=call.now,
        # What the edit leaves alone is not judged again: a one-off's time may be past by now.
        schedule=schedule_from_json(stored.schedule) if same_schedule else None,
        target_id=stored.target_id if same_target else None,
    )


_TARGET = Query(name="target", description="name or id of a target")

OPERATIONS = (
    Operation(
        method="POST",
        path="/v1/jobs",
        name="createJob",
        summary="Create a job",
        handle=create_job,
        scope="jobs:write",
        status=201,
        body="JobIn",
        reply="Job",
        conditional=True,
        errors=(409,),
    ),
    Operation(
        method="GET",
        path="/v1/jobs",
        name="listJobs",
        summary="List jobs, newest first",
        handle=list_jobs,
        scope="jobs:read",
        reply="list of Job",
        query=(
            Query(name="state", description="", schema={"type": "string", "enum": list(_SHOWN_STATES)}),
            Query(
                name="tag",
                description="`name:value`; several must all match",
                schema={"type": "array", "items": {"type": "string"}},
                explode=True,
            ),
            Query(name="name", description="exactly this name, in either tier"),
            Query(name="name_prefix", description="how the name begins, to the letter"),
            Query(name="q", description="words; each must begin a word of the name, or of a tag's value, in any case"),
            _TARGET,
            Query(
                name="tier",
                description="`hot`, or `cold`: far-future one-offs, hour by hour; a page may be empty and go on",
                schema={"type": "string", "enum": list(cold_lists.TIERS)},
            ),
            Query(
                name="due_before",
                description="jobs with an occurrence before this time that has not started",
                schema={"type": "string", "format": "date-time"},
            ),
            *PAGE,
        ),
    ),
    Operation(
        method="GET",
        path="/v1/jobs/{id}",
        name="getJob",
        summary="One job",
        handle=get_job,
        addresses_job=True,
        scope="jobs:read",
        reply="Job",
        conditional=True,
        errors=(404,),
    ),
    Operation(
        method="PATCH",
        path="/v1/jobs/{id}",
        name="editJob",
        summary="Edit a job: a JSON merge patch (RFC 7396) of the shape that creates it",
        handle=edit_job,
        addresses_job=True,
        scope="jobs:write",
        body="JobIn",
        reply="Job",
        conditional=True,
        errors=(404, 409, 412),
    ),
    Operation(
        method="DELETE",
        path="/v1/jobs/{id}",
        name="deleteJob",
        summary="Delete a job; its runs stay on record",
        handle=delete_job,
        addresses_job=True,
        scope="jobs:write",
        status=204,
        conditional=True,
        errors=(404, 412),
    ),
    Operation(
        method="POST",
        path="/v1/jobs/{id}/pause",
        name="pauseJob",
        summary="Pause a job, at once",
        handle=pause_job,
        addresses_job=True,
        scope="jobs:write",
        body="PauseIn",
        body_optional=True,
        reply="Job",
        conditional=True,
        errors=(404, 409, 412),
    ),
    Operation(
        method="POST",
        path="/v1/jobs/{id}/resume",
        name="resumeJob",
        summary="Resume a paused job",
        handle=resume_job,
        addresses_job=True,
        scope="jobs:write",
        body="ResumeIn",
        body_optional=True,
        reply="Job",
        conditional=True,
        errors=(404, 409, 412),
    ),
    Operation(
        method="POST",
        path="/v1/jobs/{id}/skip-next",
        name="skipNext",
        summary="Take out the next occurrence of a job",
        handle=skip_next,
        addresses_job=True,
        scope="jobs:write",
        body="EmptyIn",
        body_optional=True,
        reply="Job",
        conditional=True,
        errors=(404, 409, 412),
    ),
    Operation(
        method="POST",
        path="/v1/jobs/{id}/trigger",
        name="triggerJob",
        summary="Run a job now, also a paused one",
        handle=trigger_job,
        addresses_job=True,
        scope="runs:write",
        status=202,
        body="TriggerIn",
        body_optional=True,
        reply="Run",
        errors=(404,),
    ),
    Operation(
        method="GET",
        path="/v1/jobs/{id}/upcoming",
        name="listUpcoming",
        summary="The next occurrences of a job's schedule",
        handle=list_upcoming,
        addresses_job=True,
        scope="jobs:read",
        reply="Preview",
        query=(
            Query(
                name="count",
                description="how many",
                schema={"type": "integer", "minimum": 1, "maximum": PREVIEW_MAX, "default": 10},
            ),
        ),
        errors=(404,),
    ),
    Operation(
        method="GET",
        path="/v1/jobs/{id}/runs",
        name="listJobRuns",
        summary="The runs of a job, latest occurrence first",
        handle=list_job_runs,
        addresses_job=True,
        scope="jobs:read",
        reply="list of Run",
        query=(STATE, *PAGE),
        errors=(404,),
    ),
    Operation(
        method="GET",
        path="/v1/jobs/{id}/missed",
        name="listMissed",
        summary="Occurrences of a job that were not run, stretch by stretch, latest first",
        handle=list_missed,
        addresses_job=True,
        scope="jobs:read",
        reply="list of Missed",
        query=PAGE,
        errors=(404,),
    ),
    Operation(
        method="POST",
        path="/v1/schedules/preview",
        name="previewSchedule",
        summary="The occurrences of a schedule, before there is a job",
        handle=preview_schedule,
        scope="jobs:read",
        body="PreviewIn",
        reply="Preview",
    ),
)
