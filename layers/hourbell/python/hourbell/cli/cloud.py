"""``hourbell up``, ``down``, ``status`` and ``demo``: the local cloud."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from hourbell.cli.output import AsJson, console, print_fields, print_json
from hourbell.cli.progress import StepPrinter
from hourbell.client import Client
from hourbell.local.project import Project, StateDirectory

if TYPE_CHECKING:
    from hourbell.local.state import Cloud, CloudRecord


def up() -> None:
    """Start the local cloud, or deploy what changed; prints its URL and API key."""
    project = Project.find()
    _print_cloud(_bring_up(project, StateDirectory.of(project)))


def down(
    *,
    purge: Annotated[bool, typer.Option("--purge", help="Forget its jobs, runs and key too.")] = False,
) -> None:
    """Stop the local cloud. Jobs and runs are kept for the next up."""
    from hourbell.local import cloud

    project = Project.find()
    ended = cloud.down(project, StateDirectory.of(project), purge=purge)
    typer.echo("The local cloud is down." if ended else "No local cloud was running.")


def status(*, as_json: AsJson = False) -> None:
    """Show whether the local cloud runs, and where; exit 1 when it does not."""
    from hourbell.local.state import Cloud, CloudRecord

    record = CloudRecord.read(StateDirectory.of(Project.find())) or CloudRecord()
    if as_json:
        console_url = None if record.url is None else _console_url(record.url)
        print_json({"up": record.is_up, "console": console_url, **record.to_json()})
    elif record.is_up:
        _print_cloud(Cloud.of(record))
    else:
        typer.echo(_what_is_wrong(record))
    if not record.is_up:
        raise typer.Exit(1)


def demo() -> None:
    """Schedule jobs over HTTP on a local cloud and watch them ring for 20 s; exit 1 if one is missing, doubled or late.

    Takes the cloud that is up, or starts one and stops it at the end; the jobs are deleted either way.
    """
    from hourbell.cli.demo_screen import print_summary, screen
    from hourbell.local import cloud
    from hourbell.local.demo import run_demo
    from hourbell.local.state import CloudRecord

    project = Project.find()
    state = StateDirectory.of(project)
    record = CloudRecord.read(state)
    found_up = record is not None and record.is_up
    running = _bring_up(project, state)
    try:
        with Client(running.url, running.api_key) as client, screen(console()) as watch:
            verdict = run_demo(client, watch=watch)
        print_summary(console(), verdict)
    finally:
        if not found_up:
            cloud.down(project, state)
    if not found_up:
        typer.echo("The local cloud is down again. To keep one: make up")
    if not verdict.ok:
        raise typer.Exit(1)


def _what_is_wrong(record: CloudRecord) -> str:
    if not record.pids:
        return "The local cloud is down."
    if missing := record.missing():
        return f"The local cloud is broken ({' and '.join(missing)} not running): make up"
    return "The local cloud is being brought up, or its `up` was broken off: make up"


def synth() -> None:
    """Write the CloudFormation templates of both stages. Needs no account; cdk-nag's findings fail it."""
    from hourbell.local.synth import synthesise

    synthesise(Project.find(), StepPrinter(console(stderr=True)))


def _bring_up(project: Project, state: StateDirectory) -> Cloud:
    from hourbell.local import cloud

    return cloud.up(project, state, progress=StepPrinter(console(stderr=True)))


def _console_url(url: str) -> str:
    return f"{url}/console"


def _print_cloud(running: Cloud) -> None:
    from hourbell.local.receiver import RECEIVER_PORT

    print_fields(
        {
            "URL": running.url,
            "Console": _console_url(running.url),
            "API key": running.api_key,
            "Database": running.database,
            "AWS": running.endpoint,
        }
    )
    typer.echo()
    typer.echo("Next:")
    typer.echo(f"  export HOURBELL_URL={shlex.quote(running.url)} HOURBELL_API_KEY={running.api_key}")
    typer.echo("  .venv/bin/python -m hourbell.local.receiver &")
    typer.echo(f"  .venv/bin/hourbell jobs create --name hello --every 10s --url http://127.0.0.1:{RECEIVER_PORT}/")
    typer.echo("  .venv/bin/hourbell runs list --job hello")
    typer.echo("  make down")
