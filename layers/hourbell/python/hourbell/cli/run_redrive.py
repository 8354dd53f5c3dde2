"""``hourbell runs redrive``."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

import typer

from hourbell.cli.confirmation import Yes, confirm
from hourbell.cli.connection import connect
from hourbell.cli.jobs import find_job_id
from hourbell.cli.output import AsJson, count, print_json

_STATES = ("dead", "cancelled", "skipped")


def redrive(
    *,
    state: Annotated[str, typer.Option(help="dead, cancelled or skipped.")] = "dead",
    job: Annotated[str | None, typer.Option(help="Only runs of this job (id or name).")] = None,
    target: Annotated[str | None, typer.Option(help="Only runs of this target (id or name).")] = None,
    start: Annotated[str | None, typer.Option("--from", help="Only runs scheduled at this time or later.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="Only runs scheduled before this time.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Start dead (cancelled, skipped) runs over, each under its own id and with a full set of attempts."""
    if state not in _STATES:
        raise typer.BadParameter(f"must be one of {', '.join(_STATES)}", param_hint="--state")
    with connect() as client:
        matching: dict[str, Any] = {
            "state": cast("Literal['dead', 'cancelled', 'skipped']", state),
            "job": find_job_id(client, job) if job else None,
            "target": target,
            "from_": start,
            "to": end,
        }
        found = client.redrive_runs(**matching, dry_run=True)
        if dry_run or not found["runs"]:
            return (
                print_json(found) if as_json else typer.echo(f"{_amount(found['runs'], found['more'])} to start over.")
            )
        confirm(f"Start {_amount(found['runs'], found['more'])} over?", yes=yes)
        done = client.redrive_runs(**matching)
        runs = done["runs"]
        while done["more"] and done["runs"]:
            done = client.redrive_runs(**matching)
            runs += done["runs"]
    if as_json:
        return print_json({**done, "runs": runs})
    typer.echo(f"{count(runs, 'run')} started over.")
    return None


def _amount(runs: int, more: bool) -> str:
    return f"{runs:,} runs and more" if more else count(runs, "run")
