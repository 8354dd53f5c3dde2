"""``hourbell jobs``."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import typer

from hourbell.cli import job_options as given
from hourbell.cli.confirmation import Yes, confirm_each
from hourbell.cli.connection import connect
from hourbell.cli.job_audit import print_audit
from hourbell.cli.output import AsJson, describe_schedule, print_fields, print_json, print_table
from hourbell.client import Client, ClientError, Job
from hourbell.domain.cold import Tier

app = typer.Typer(no_args_is_help=True, help="Jobs: what rings, when, and where.")

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="A job's id (job_…) or its name.")]


@app.command("list")
def list_jobs(
    *,
    state: Annotated[Literal["active", "paused", "completed"] | None, typer.Option()] = None,
    q: Annotated[
        str | None, typer.Option("--q", help="Words that begin words of the name or of a tag's value.")
    ] = None,
    name_prefix: Annotated[str | None, typer.Option(help="How the name begins.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Only jobs with this tag: team=payments; several must all be there.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Only jobs of this target.")] = None,
    tier: Annotated[Tier, typer.Option(help="cold: one-offs of the far future, by the hour they are due.")] = Tier.HOT,
    due_before: Annotated[str | None, typer.Option(help="Only jobs that are due before this instant.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    as_json: AsJson = False,
) -> None:
    """List jobs; pages that hold none are passed over."""
    with connect() as client:
        read = partial(
            client.list_jobs,
            state=state,
            q=q,
            name_prefix=name_prefix,
            tag=given.tag_filters(tag),
            target=target,
            tier=tier.value,
            due_before=due_before,
            limit=limit,
        )
        page = read(cursor=cursor)
        while not page["items"] and page["next_cursor"]:
            page = read(cursor=page["next_cursor"])
    if as_json:
        return print_json(page)
    rows = (
        (job["id"], job["name"], describe_schedule(job["schedule"]), job["state"], job["next_run_at"])
        for job in page["items"]
    )
    print_table(("ID", "NAME", "SCHEDULE", "STATE", "NEXT RUN"), rows, empty="No jobs.")
    if page["next_cursor"]:
        typer.echo(f"More: --cursor {page['next_cursor']}")
    return None


@app.command()
def show(
    job: JobArgument,
    *,
    audit: Annotated[bool, typer.Option("--audit", help="Show who changed it instead, latest first.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show one job with its next runs, or who changed it."""
    with connect() as client:
        if audit:
            # By its id it is found also when it was deleted.
            job_id = job if job.startswith("job_") else find_job(client, job)["id"]
            return print_audit(client.job_audit(job_id, limit=200), as_json=as_json)
        return print_job(find_job(client, job), as_json=as_json)


@app.command()
def create(
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
    paused: Annotated[bool, typer.Option("--paused", help="Do not ring yet.")] = False,
    file: given.File = None,
    as_json: AsJson = False,
) -> None:
    """Create a job, from options or from a file."""
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
        paused=paused or None,
    )
    needed = {"schedule": "a schedule (--cron, --every or --at)", "target": "a --target or --url"}
    missing = [option for field, option in needed.items() if field not in body]
    if missing:
        raise typer.BadParameter(f"a job needs {' and '.join(missing)}")
    with connect() as client:
        print_job(client.create_job(body), as_json=as_json)


@app.command()
def pause(
    job: JobArgument,
    *,
    note: Annotated[str | None, typer.Option(help="Why, for whoever finds it paused.")] = None,
    as_json: AsJson = False,
) -> None:
    """Silence a job at once, runs already under way to it included."""
    with connect() as client:
        print_job(client.pause_job(find_job_id(client, job), note=note), as_json=as_json)


@app.command()
def resume(
    job: JobArgument,
    *,
    missed: Annotated[Literal["skip", "catch_up"], typer.Option(help="What becomes of the runs it left out.")] = "skip",
    as_json: AsJson = False,
) -> None:
    """Let a paused job go on."""
    with connect() as client:
        print_job(client.resume_job(find_job_id(client, job), missed=missed), as_json=as_json)


@app.command("skip-next")
def skip_next(job: JobArgument, *, as_json: AsJson = False) -> None:
    """Take out a job's next run; again, the one after it."""
    with connect() as client:
        print_job(client.skip_next(find_job_id(client, job)), as_json=as_json)


@app.command()
def trigger(
    job: JobArgument,
    *,
    payload: Annotated[str | None, typer.Option(help="JSON, or @file, instead of the job's own.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run a job now, besides its schedule."""
    with connect() as client:
        body = {} if payload is None else {"payload": given.read_payload(payload)}
        run = client.trigger_job(find_job_id(client, job), body)
    if as_json:
        return print_json(run)
    typer.echo(f"{run['id']} {run['state']}")
    return None


@app.command()
def delete(
    job: Annotated[list[str], typer.Argument(metavar="JOB...", help="Ids (job_…) or names.")], *, yes: Yes = False
) -> None:
    """Delete jobs, several after a question; their run records stay."""
    with connect() as client:
        found = {find_job_id(client, one): one for one in job}
        confirm_each("Delete", "job", list(found.values()), yes=yes)
        for job_id in found:
            client.delete_job(job_id)
            typer.echo(f"{job_id} deleted")


def find_job(client: Client, job: str) -> Job:
    """The job of this id or name.

    Raises:
        ClientError: there is none.
    """
    if job.startswith("job_"):
        return client.get_job(job)
    found = client.list_jobs(name=job, limit=1)["items"]
    if not found:
        raise ClientError(f"There is no job named {job!r}.")
    return client.get_job(found[0]["id"])


def find_job_id(client: Client, job: str) -> str:
    """The id of the job of this id or name, asking the API only about names."""
    return job if job.startswith("job_") else find_job(client, job)["id"]


def print_job(job: Job, *, as_json: bool) -> None:
    """A job with its next runs, or the API's JSON of it."""
    if as_json:
        return print_json(job)
    shown: dict[str, object] = {**job, "schedule": describe_schedule(job["schedule"])}
    upcoming = shown.pop("next_runs", None)
    print_fields({**shown, "next_runs": "\n".join(upcoming) if isinstance(upcoming, list) else None})
    return None
