"""``hourbell``: the local cloud, jobs, runs, previews. Exit status: 0 fine, 1 failed, 2 wrong usage."""

from __future__ import annotations

import sys

import typer

from hourbell.cli import (
    cloud,
    cold,
    imports,
    invoke,
    job_apply,
    job_backfill,
    job_edit,
    job_times,
    jobs,
    keys,
    lanes,
    run_redrive,
    run_tail,
    runs,
    targets,
    tenants,
)
from hourbell.cli.doctor import doctor
from hourbell.cli.login import login, logout
from hourbell.cli.output import explain, print_error, print_usage_error
from hourbell.cli.preview import preview
from hourbell.cli.stats import stats
from hourbell.client import ClientError
from hourbell.local.errors import LocalCloudError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Hourbell, a job scheduler: one machine's own cloud, and the API of any.",
)
app.command()(cloud.up)
app.command()(cloud.down)
app.command()(cloud.status)
app.command()(cloud.demo)
app.command()(cloud.synth)
app.command()(preview)
app.add_typer(imports.app, name="import")
app.command()(stats)
app.command()(doctor)
app.command()(invoke.invoke)
app.command()(login)
app.command()(logout)
jobs.app.command()(job_apply.apply)
jobs.app.command()(job_edit.edit)
jobs.app.command("backfill")(job_backfill.backfill)
jobs.app.command()(job_times.upcoming)
jobs.app.command()(job_times.missed)
runs.app.command()(run_tail.tail)
runs.app.command()(run_redrive.redrive)
app.add_typer(jobs.app, name="jobs")
app.add_typer(runs.app, name="runs")
app.add_typer(targets.app, name="targets")
app.add_typer(keys.app, name="keys")
app.add_typer(cold.app, name="cold")
app.add_typer(tenants.app, name="tenants")
app.add_typer(lanes.app, name="lanes")


def main() -> None:
    """Run one command; what went wrong for the user is one line, never a traceback."""
    try:
        sys.exit(app(prog_name="hourbell", standalone_mode=False))
    except typer.TyperException as error:
        print_usage_error(error)
        sys.exit(error.exit_code)
    except ClientError as error:
        print_error(explain(error))
        sys.exit(1)
    except LocalCloudError as error:
        print_error(str(error))
        sys.exit(1)
    except typer.Abort:
        print_error("Broken off; nothing was done.")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
