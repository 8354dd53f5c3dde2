"""``hourbell jobs upcoming`` and ``missed``: when a job rings next, and when it did not."""

from __future__ import annotations

from typing import Annotated

import typer

from hourbell.cli.connection import connect
from hourbell.cli.jobs import JobArgument, find_job_id
from hourbell.cli.output import AsJson, print_json, print_table
from hourbell.cli.preview import print_occurrences


def upcoming(
    job: JobArgument,
    *,
    count: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show when a job rings next, and what clock changes do to it."""
    with connect() as client:
        found = client.upcoming(find_job_id(client, job), count=count)
    if as_json:
        return print_json(found)
    return print_occurrences(found["description"], found["occurrences"])


def missed(
    job: JobArgument,
    *,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show which occurrences were not run, stretch by stretch, latest first."""
    with connect() as client:
        page = client.list_missed(find_job_id(client, job), limit=limit, cursor=cursor)
    if as_json:
        return print_json(page)
    rows = (
        (
            stretch["first_scheduled_for"],
            stretch["last_scheduled_for"],
            f"{stretch['occurrences']:,}",
            stretch["reason"],
            stretch["recorded_at"],
        )
        for stretch in page["items"]
    )
    print_table(("FIRST", "LAST", "OCCURRENCES", "REASON", "NOTICED"), rows, empty="It missed nothing.")
    if page["next_cursor"]:
        typer.echo(f"More: --cursor {page['next_cursor']}")
    return None
