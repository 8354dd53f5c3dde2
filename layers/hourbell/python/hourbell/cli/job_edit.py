"""``hourbell jobs edit``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from hourbell.cli import job_options as given
from hourbell.cli.connection import connect
from hourbell.cli.editor import edit_json
from hourbell.cli.jobs import JobArgument, find_job, print_job
from hourbell.cli.merge_patch import difference, merged, same
from hourbell.cli.output import AsJson
from hourbell.client import ApiError, ClientError, Job

_EDITABLE = (
    "name",
    "schedule",
    "target",
    "payload",
    "window",
    "catch_up",
    "overlap",
    "retry",
    "timeout",
    "tags",
)


def edit(
    job: JobArgument,
    *,
    name: given.Name = None,
    cron: given.Cron = None,
    every: given.Every = None,
    at: given.At = None,
    timezone: given.Timezone = None,
    target: given.Target = None,
    url: given.Url = None,
    payload: given.Payload = None,
    window: given.Window = None,
    overlap: given.Overlap = None,
    timeout: given.Timeout = None,
    tag: given.Tags = None,
    paused: Annotated[bool | None, typer.Option("--paused/--resumed", help="Silence it, or let it go on.")] = None,
    file: given.File = None,
    editor: Annotated[bool, typer.Option("--editor", help="Edit it as JSON in $EDITOR.")] = False,
    as_json: AsJson = False,
) -> None:
    """Change what the options name and leave the rest; refused when somebody else changed the job meanwhile."""
    body = given.job_body(
        file=file,
        schedule={"cron": cron, "every": every, "at": at, "timezone": timezone},
        payload=payload,
        tags=tag,
        target=target,
        url=url,
        name=name,
        window=window,
        overlap=overlap,
        timeout=timeout,
        paused=paused,
    )
    if bool(body) == editor:
        raise typer.BadParameter("say what to change, or give --editor" if not body else "--editor goes alone")
    with connect() as client:
        found = find_job(client, job)
        changes = given.as_changes(body, found) if body else _edited(found)
        if changes:
            try:
                found = client.update_job(found["id"], changes, if_version=found["version"])
            except ApiError as error:
                if error.status == 412:
                    raise ClientError("The job was changed meanwhile. Look at it, and edit it again.") from error
                raise
        elif not as_json:
            typer.echo("Nothing was changed.")
            return
    print_job(found, as_json=as_json)


def _edited(job: Job) -> dict[str, Any]:
    before: Mapping[str, Any] = {
        **{name: dict(job).get(name) for name in _EDITABLE},
        "paused": job["state"] == "paused",
    }
    after = edit_json(before)
    if after is None:
        return {}
    changes = difference(before, after)
    if "payload" in changes and not same(merged(before["payload"], changes["payload"]), after.get("payload")):
        raise ClientError("payload: a member that is null cannot be set by an edit; `jobs apply` can")
    return changes
