"""``hourbell preview``: when a schedule would ring, computed here, without any server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from hourbell.cli.output import AsJson, print_error, print_json, print_table
from hourbell.domain.description import describe
from hourbell.domain.errors import HourbellError
from hourbell.domain.instants import parse_instant
from hourbell.domain.preview import preview as preview_schedule
from hourbell.domain.schedule import parse_schedule


def preview(
    *,
    cron: Annotated[str | None, typer.Option(help="Five fields, or six with seconds first.")] = None,
    every: Annotated[str | None, typer.Option(help="An interval: 30s, 5m, PT2H.")] = None,
    at: Annotated[str | None, typer.Option(help="One time.")] = None,
    timezone: Annotated[str | None, typer.Option(help="An IANA zone: Asia/Kolkata.")] = None,
    gap: Annotated[str | None, typer.Option(help="A local time that does not exist: run or skip.")] = None,
    repeat: Annotated[str | None, typer.Option(help="A local time that occurs twice: once or twice.")] = None,
    anchor: Annotated[str | None, typer.Option(help="Where --every counts from.")] = None,
    after: Annotated[str | None, typer.Option(help="Only occurrences after this instant; default: now.")] = None,
    count: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show when a schedule rings next. Needs no server and no account."""
    options = {
        "cron": cron,
        "every": every,
        "at": at,
        "timezone": timezone,
        "gap": gap,
        "repeat": repeat,
        "anchor": anchor,
    }
    schedule = {name: value for name, value in options.items() if value is not None}
    if not {"cron", "every", "at"} & schedule.keys():
        raise typer.BadParameter("give one of --cron, --every and --at")
    try:
        description, occurrences = _preview(schedule, after, count)
    except HourbellError as error:
        print_error(" ".join(str(error).split()))
        raise typer.Exit(1) from error
    if as_json:
        return print_json({"description": description, "occurrences": occurrences})
    return print_occurrences(description, occurrences)


def print_occurrences(description: str | None, occurrences: Iterable[Mapping[str, Any]]) -> None:
    """When something rings, under what its schedule says."""
    if description:
        typer.echo(description)
    rows = ((each["local"], each["scheduled_for"], each["note"]) for each in occurrences)
    print_table(("LOCAL", "UTC", "NOTE"), rows, empty="It never rings again.")


def _preview(schedule: dict[str, str], after: str | None, count: int) -> tuple[str, list[Any]]:
    start = parse_instant(after, field="after") if after else datetime.now(UTC)
    parsed = parse_schedule(schedule, now=start)
    # Without a job: H, which hashes its id, has no answer here and says so.
    found = list(preview_schedule(parsed, job_id=None, after=start, count=count))
    return describe(parsed, job_id=None), found
