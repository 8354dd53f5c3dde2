"""``hourbell runs``."""

from __future__ import annotations

from typing import Annotated

import typer

from hourbell.cli.connection import connect
from hourbell.cli.job_names import JobNames
from hourbell.cli.jobs import find_job_id
from hourbell.cli.output import AsJson, print_fields, print_json, print_table
from hourbell.client import Run
from hourbell.domain.run_state import RunState

RunId = Annotated[str, typer.Argument(metavar="RUN", help="A run's id (run_…).")]

app = typer.Typer(no_args_is_help=True, help="Runs: what happened to every occurrence.")


@app.command("list")
def list_runs(
    *,
    job: Annotated[str | None, typer.Option(help="Only runs of this job (id or name).")] = None,
    state: Annotated[RunState | None, typer.Option(help="queued: those that are only planned ahead, too.")] = None,
    target: Annotated[str | None, typer.Option(help="Only runs of this target.")] = None,
    from_: Annotated[str | None, typer.Option("--from", help="Only runs of occurrences from this instant on.")] = None,
    to: Annotated[str | None, typer.Option(help="Only runs of occurrences before this instant.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    as_json: AsJson = False,
) -> None:
    """List runs, newest first."""
    with connect() as client:
        job_id = find_job_id(client, job) if job else None
        page = client.list_runs(job=job_id, state=state, target=target, from_=from_, to=to, limit=limit, cursor=cursor)
        if as_json:
            return print_json(page)
        names = {} if job_id else JobNames(client).of(page["items"])
    rows = (
        (
            run["id"],
            *([] if job_id else [names[run["job_id"]]]),
            run["scheduled_for"],
            run["state"],
            run["reason"],
            run["attempt"],
            _milliseconds(run["lateness_ms"]),
        )
        for run in page["items"]
    )
    job_column = () if job_id else ("JOB",)
    columns = ("ID", *job_column, "SCHEDULED FOR", "STATE", "REASON", "ATTEMPT", "LATE")
    print_table(columns, rows, empty="No runs.")
    if page["next_cursor"]:
        typer.echo(f"More: --cursor {page['next_cursor']}")
    return None


@app.command()
def show(run: RunId, *, as_json: AsJson = False) -> None:
    """Show one run with its attempts."""
    with connect() as client:
        found = client.get_run(run)
    if as_json:
        return print_json(found)
    print_run(found)
    return None


@app.command()
def retry(run: RunId, *, as_json: AsJson = False) -> None:
    """Start a dead, cancelled or skipped run over, under its own id and with a full set of attempts."""
    with connect() as client:
        _print_state(client.retry_run(run), as_json=as_json)


@app.command()
def cancel(run: RunId, *, as_json: AsJson = False) -> None:
    """Cancel a run that has not ended."""
    with connect() as client:
        _print_state(client.cancel_run(run), as_json=as_json)


def _print_state(run: Run, *, as_json: bool) -> None:
    if as_json:
        return print_json(run)
    typer.echo(f"{run['id']} {run['state']}")
    return None


def print_run(run: Run) -> None:
    """One run, and below it what each attempt came to."""
    shown = {name: value for name, value in run.items() if name not in ("attempts", "lateness_ms")}
    print_fields({**shown, "lateness": _milliseconds(run["lateness_ms"])})
    attempts = run.get("attempts", [])
    if attempts:
        typer.echo()
        rows = (
            (
                each["number"],
                each["started_at"],
                each["outcome"],
                each["status_code"],
                _milliseconds(each["duration_ms"]),
                each["error"],
            )
            for each in attempts
        )
        print_table(("ATTEMPT", "STARTED", "OUTCOME", "STATUS", "TOOK", "ERROR"), rows, empty="")


def _milliseconds(value: int | None) -> str | None:
    return None if value is None else f"{value} ms"
