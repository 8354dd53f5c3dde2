"""How the command line speaks: tables for people, the API's own JSON with ``--json``, one line for a refusal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from http import HTTPStatus
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hourbell.client import ApiError, ClientError

# Piped output has no width to respect: a wide one keeps a row on one line, for grep.
_PIPED_WIDTH = 240

_IDS = ("ID", "RUN")
_ID_WIDTH = 30

AsJson = Annotated[bool, typer.Option("--json", help="Print the API's JSON.")]

STATE_STYLES: Mapping[str, str] = {
    "active": "green",
    "succeeded": "green",
    "running": "cyan",
    "queued": "blue",
    "retrying": "yellow",
    "paused": "yellow",
    "skipped": "yellow",
    "dead": "bold red",
    "cancelled": "dim",
    "completed": "dim",
    "deleted": "dim",
}


_bar: ContextVar[Console | None] = ContextVar("bar", default=None)


@contextmanager
def bar_on(terminal: Console) -> Iterator[None]:
    """While a bar moves on this terminal: errors go through the same console, which puts them above the bar."""
    before = _bar.set(terminal)
    try:
        yield
    finally:
        _bar.reset(before)


def console(*, stderr: bool = False) -> Console:
    """The terminal, or the pipe, that this command writes to."""
    bar = _bar.get()
    if stderr and bar is not None:
        return bar
    found = Console(stderr=stderr, highlight=False)
    return found if found.is_terminal else Console(stderr=stderr, highlight=False, width=_PIPED_WIDTH)


def print_error(text: str) -> None:
    """One line about what went wrong."""
    console(stderr=True).print(f"hourbell: {text}", style="red", markup=False, soft_wrap=True)


def explain(error: ClientError) -> str:
    """What went wrong on one line, however many the database or a library took for it."""
    said = " ".join(str(error).split())
    if not isinstance(error, ApiError):
        return said
    if error.status == HTTPStatus.UNAUTHORIZED:
        return f"{said}; hourbell login, or set HOURBELL_URL and HOURBELL_API_KEY"
    if error.status == HTTPStatus.NOT_FOUND and not error.kind:
        return f"{said}: no Hourbell answers at this URL (the local cloud's is another one each time: make status)"
    return said


def print_usage_error(error: typer.TyperException) -> None:
    """One line about what was typed wrong, and which help says how it is typed; nothing where the help was printed."""
    context: typer.Context | None = getattr(error, "ctx", None)
    message = error.format_message().replace("Value error, ", "").rstrip(".")
    if message:
        print_error(f"{message} ({context.command_path} --help)" if context else message)


def count(number: int, thing: str) -> str:
    """``1 run``, ``2 runs``."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def print_json(value: Any) -> None:
    """A reply as it came, indented."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(columns: Iterable[str], rows: Iterable[Iterable[object]], *, empty: str) -> None:
    """Rows under headings, a line each; ``empty`` where there are none.

    A terminal that is too narrow cuts texts short, and no ids: they are there to be copied.
    """
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, no_wrap=True, min_width=_ID_WIDTH if column in _IDS else None)
    for row in rows:
        table.add_row(*(cell(value) for value in row))
    console().print(table if table.row_count else f"[dim]{escape(empty)}[/dim]")


def print_fields(fields: Mapping[str, object]) -> None:
    """One thing, a field a line."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in fields.items():
        table.add_row(name, cell(value))
    console().print(table)


def cell(value: object) -> str:
    """A value as a table shows it: states in colour, structures as JSON, nothing as a dash."""
    if value is None or value in ("", {}, []):
        return "[dim]-[/dim]"
    if isinstance(value, str):
        style = STATE_STYLES.get(value)
        return f"[{style}]{value}[/{style}]" if style else escape(value)
    if isinstance(value, dict | list):
        return escape(json.dumps(value, ensure_ascii=False))
    return escape(str(value))


def describe_schedule(schedule: Mapping[str, Any]) -> str:
    """A schedule in a few words: ``0 2 * * * (Asia/Kolkata)``, ``every PT30S``, ``at 2027-03-14T07:00:00.000Z``."""
    zone = schedule.get("timezone")
    suffix = f" ({zone})" if zone and zone != "UTC" else ""
    if "cron" in schedule:
        return f"{schedule['cron']}{suffix}"
    if "every" in schedule:
        return f"every {schedule['every']}"
    return f"at {schedule.get('at')}{suffix}"
