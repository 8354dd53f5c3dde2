"""``hourbell import``: schedules that others keep become jobs; a second import changes only what has changed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from hourbell.cli.connection import connect
from hourbell.cli.job_options import Tags, read_tags
from hourbell.cli.job_plan import PlanLine, print_plan
from hourbell.cli.output import AsJson, count, describe_schedule, explain, print_error, print_json, print_table
from hourbell.cli.progress import tracked
from hourbell.client import Client, ClientError
from hourbell.importing.carry_out import Step, carry_out, compare_all, known_targets
from hourbell.importing.compare import Comparison
from hourbell.importing.plan import ImportedTarget, Plan

T = TypeVar("T")

app = typer.Typer(no_args_is_help=True, help="Import jobs from a crontab or from EventBridge Scheduler.")

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only report what would be done.")]

_NONE_MADE = "No job was made, because the API refused some."
_SYSTEM_PLACES = ("/etc/crontab", "/etc/cron.d/")


@app.command()
def crontab(
    file: Annotated[str, typer.Argument(metavar="FILE", help="As crontab -l prints it; - reads standard input.")],
    *,
    target: Annotated[str, typer.Option(help="The target of every job: it gets the command, and runs it.")],
    system: Annotated[
        bool | None,
        typer.Option("--system/--user", help="With a user column or without; default: as the file's place has it."),
    ] = None,
    timezone: Annotated[
        str | None, typer.Option(help="Of lines above any CRON_TZ; default: this machine's zone.")
    ] = None,
    prefix: Annotated[str, typer.Option(help="What the jobs' names begin with: one per crontab.")] = "crontab",
    tag: Tags = None,
    skip_unreadable: Annotated[
        bool, typer.Option("--skip-unreadable", help="Import the rest of a crontab with lines that cannot be read.")
    ] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Make a job of every line of a crontab. Nothing is made as long as one line cannot be read."""
    from hourbell.importing.crontab import CrontabOptions, read_crontab

    options = CrontabOptions(
        target=target,
        timezone=timezone or _machine_zone(),
        system=file.startswith(_SYSTEM_PLACES) if system is None else system,
        tags=read_tags(tag),
        prefix=prefix,
    )
    plan = read_crontab(_read(file), options, now=datetime.now(UTC))
    _finish(plan, skip="--skip-unreadable", may_skip=skip_unreadable, dry_run=dry_run, as_json=as_json)


@app.command()
def eventbridge(
    *,
    group: Annotated[str | None, typer.Option(help="Only schedules of this group.")] = None,
    profile: Annotated[str | None, typer.Option(help="Of the AWS configuration.")] = None,
    region: Annotated[str | None, typer.Option(help="The AWS region.")] = None,
    skip_unmapped: Annotated[
        bool, typer.Option("--skip-unmapped", help="Import the rest when some schedules have no counterpart.")
    ] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Make a job of every schedule of EventBridge Scheduler, which is only read. Nothing is made unless all map."""
    from hourbell.importing.eventbridge import map_schedules

    schedules = list(_schedules(group, profile, region))
    known: list[ImportedTarget] = []
    offline = None
    if dry_run:
        known, offline = _ask(known_targets, known)
    else:
        with connect() as client:
            known = known_targets(client)
    plan = map_schedules(schedules, known=known, now=datetime.now(UTC))
    _finish(plan, skip="--skip-unmapped", may_skip=skip_unmapped, dry_run=dry_run, offline=offline, as_json=as_json)


def _finish(plan: Plan, *, skip: str, may_skip: bool, dry_run: bool, offline: str | None = None, as_json: bool) -> None:
    """Carry the plan out, unless it is a dry run or has holes that nobody allowed; then tell.

    ``offline``: why no Hourbell can be asked.
    """
    blocked = bool(plan.refused) and not may_skip
    steps = [Step(job=job) for job in plan.jobs]
    if dry_run and offline is None:
        steps, offline = _ask(lambda client: compare_all(client, plan, track=tracked), steps)
    elif not dry_run and not blocked:
        with connect() as client:
            steps = carry_out(client, plan, track=tracked)
    if offline is not None:
        plan = replace(plan, notes=(*plan.notes, f"not compared with the jobs that there are: {offline}"))
    _report(plan, steps, as_json=as_json)
    if blocked:
        print_error(f"{count(len(plan.refused), 'schedule')} cannot be imported; {skip} leaves them out.")
        raise typer.Exit(1)
    if any(step.action == "refused" for step in steps):
        print_error("No job is made, because the API refuses some." if dry_run else _NONE_MADE)
        raise typer.Exit(1)


def _ask(ask: Callable[[Client], T], otherwise: T) -> tuple[T, str | None]:
    """What the API answers; where none can be asked, the other, and why."""
    try:
        with connect() as client:
            return ask(client), None
    except ClientError as error:
        return otherwise, explain(error)


def _report(plan: Plan, steps: Sequence[Step], *, as_json: bool) -> None:
    if as_json:
        return print_json(_as_json(plan, steps))
    rows: list[tuple[object, ...]] = [
        (*_row(step), "\n".join((*step.job.notes, *_reasons(step.comparison)))) for step in steps
    ]
    rows += [(each.source, "refused", each.text, None, each.reason) for each in plan.refused]
    rows += [(each.source, "over", each.text, None, each.reason) for each in plan.over]
    print_table(("SOURCE", "ACTION", "SCHEDULE", "JOB", "NOTE"), rows, empty="There is nothing to import.")
    for target in plan.targets:
        typer.echo(f"target {target.name}: {target.kind} {' '.join(str(value) for value in target.config.values())}")
    for note in plan.notes:
        typer.echo(f"note: {note}")
    if compared := [step for step in steps if step.comparison is not None]:
        print_plan([PlanLine(step.action, step.job.name, _changes(step.comparison)) for step in compared])
    return None


def _changes(comparison: Comparison | None) -> Sequence[str]:
    return () if comparison is None else comparison.changes


def _reasons(comparison: Comparison | None) -> Sequence[str]:
    return () if comparison is None or comparison.reason is None else (comparison.reason,)


def _row(step: Step) -> tuple[str, str, str, str]:
    definition = step.job.definition
    return step.job.source, step.action, describe_schedule(definition["schedule"]), step.job.name


def _as_json(plan: Plan, steps: Sequence[Step]) -> dict[str, Any]:
    def left_out(found: Sequence[Any]) -> list[dict[str, str]]:
        return [{"source": each.source, "text": each.text, "reason": each.reason} for each in found]

    return {
        "jobs": [
            {
                "source": step.job.source,
                "action": step.action,
                "changes": list(_changes(step.comparison)),
                "reason": next(iter(_reasons(step.comparison)), None),
                "notes": list(step.job.notes),
                "definition": step.job.definition,
            }
            for step in steps
        ],
        "targets": [{"name": target.name, target.kind: target.config} for target in plan.targets],
        "refused": left_out(plan.refused),
        "over": left_out(plan.over),
        "notes": list(plan.notes),
    }


def _schedules(group: str | None, profile: str | None, region: str | None) -> Iterator[dict[str, Any]]:
    """Every schedule as ``GetSchedule`` describes it.

    Raises:
        ClientError: AWS refuses, or does not know who is asking.
    """
    import boto3
    from botocore.exceptions import BotoCoreError
    from botocore.exceptions import ClientError as AwsError

    try:
        session: Any = boto3.Session(profile_name=profile, region_name=region)
        scheduler = session.client("scheduler")
        for page in scheduler.get_paginator("list_schedules").paginate(**({"GroupName": group} if group else {})):
            for listed in page["Schedules"]:
                yield scheduler.get_schedule(GroupName=listed["GroupName"], Name=listed["Name"])
    except (AwsError, BotoCoreError) as error:
        raise ClientError(
            f"EventBridge Scheduler cannot be read: {error} (--profile and --region say where)"
        ) from error


def _read(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}", param_hint="FILE") from error
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"{file}: not UTF-8", param_hint="FILE") from error


def _machine_zone() -> str:
    """The zone that this machine's cron runs in: ``TZ``, or what /etc/localtime leads to."""
    name = os.environ.get("TZ", "").removeprefix(":") or str(Path("/etc/localtime").resolve())
    _, found, zone = name.rpartition("zoneinfo/")
    if not found and name.startswith("/"):
        raise typer.BadParameter("this machine's zone is not known: give --timezone", param_hint="--timezone")
    return zone
