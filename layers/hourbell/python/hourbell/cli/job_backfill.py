"""``hourbell jobs backfill``."""

from __future__ import annotations

from typing import Annotated

import typer

from hourbell.cli.confirmation import Yes, confirm
from hourbell.cli.connection import connect
from hourbell.cli.jobs import JobArgument, find_job_id
from hourbell.cli.output import AsJson, count, print_json, print_table
from hourbell.client import Backfill


def backfill(
    job: JobArgument,
    *,
    start: Annotated[str, typer.Option("--from", help="Occurrences at this time or later: 2027-05-01T00:00:00Z.")],
    end: Annotated[str, typer.Option("--to", help="And before this one, which may not lie in the future.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show which.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Run the occurrences of a span that has gone by, but for those that have a run."""
    with connect() as client:
        job_id = find_job_id(client, job)
        if dry_run or not yes:
            found = client.backfill_job(job_id, from_=start, to=end, dry_run=True)
            if dry_run:
                return print_json(found) if as_json else _print_occurrences(found)
            if not found["runs"]:
                typer.echo(f"Nothing to run: {_existing(found)}.")
                return None
            confirm(f"Start {count(found['runs'], 'run')} ({_existing(found)})?", yes=yes)
        done = client.backfill_job(job_id, from_=start, to=end)
    if as_json:
        return print_json(done)
    typer.echo(f"{count(done['runs'], 'run')} started; {_existing(done)}.")
    return None


def _existing(found: Backfill) -> str:
    return f"{count(found['existing'], 'occurrence')} with a run already"


def _print_occurrences(found: Backfill) -> None:
    rows = ((one["scheduled_for"], one["run_id"], one["existing"] or "would run") for one in found["occurrences"])
    print_table(("SCHEDULED FOR", "RUN", "STATE"), rows, empty="No occurrences.")
    typer.echo(f"{count(found['runs'], 'run')} to start; {_existing(found)}.")
