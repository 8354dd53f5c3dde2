"""How the command line speaks: tables for people, the API's own JSON with ``--json``, one line for a refusal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from http import HTTPStatus
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hourbell.client import ApiError, ClientError, UnreachableError

# Piped output has no width to respect: a wide one keeps a row on one line, for grep.
_PIPED_WIDTH = 240

# Columns that a narrow terminal may cut short, and how much of them is left. What is cut of the others says nothing.
_TEXTS = frozenset(
    {"NAME", "SCHEDULE", "WHERE", "REASON", "CHANGES", "SCOPES", "NOTE", "SOURCE", "OBJECT", "ERROR", "WHAT"}
)
_LEAST = 8
_GAP = 2

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
    if isinstance(error, UnreachableError):
        return f"{said}: is the URL right, and does it run? (for the local cloud: make status, make up)"
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

    A terminal that is too narrow cuts texts short, and nothing else: ids are there to be copied, and half a time is
    none. Where that is not enough, a row goes on in a second line, or a third.
    """
    headings, cells = tuple(columns), [[cell(value) for value in row] for row in rows]
    terminal = console()
    if not cells:
        return terminal.print(f"[dim]{escape(empty)}[/dim]")
    natural = [max(map(_width, column)) for column in zip(headings, *cells, strict=True)]
    fitted = _fitted(headings, natural, terminal.width)
    lines = [range(len(headings))] if fitted else _broken(natural, terminal.width)
    for row in ([f"[bold]{heading}[/bold]" for heading in headings], *cells):
        for number, line in enumerate(lines):
            _print_line(
                [row[at] for at in line], [(fitted or natural)[at] for at in line], terminal, indented=number > 0
            )
    return None


def _width(text: str) -> int:
    return max(line.cell_len for line in Text.from_markup(text).split(allow_blank=True))


def _fitted(headings: Sequence[str], natural: Sequence[int], width: int) -> list[int] | None:
    """The columns' widths, the widest texts cut first; None where what cannot be cut has no room."""
    widths = list(natural)
    texts = [at for at, heading in enumerate(headings) if heading in _TEXTS]
    while sum(widths) + _GAP * (len(widths) - 1) > width:
        widest = max(texts, key=lambda at: widths[at], default=None)
        if widest is None or widths[widest] <= _LEAST:
            return None
        widths[widest] -= 1
    return widths


def _broken(natural: Sequence[int], width: int) -> list[range]:
    """Which columns go on which line of a row; all lines but the first are indented."""
    lines, first, used = [], 0, 0
    for at, needed in enumerate(natural):
        used += needed + _GAP
        if at > first and used - _GAP > width:
            lines.append(range(first, at))
            first, used = at, _GAP + needed + _GAP
    return [*lines, range(first, len(natural))]


def _print_line(cells: Sequence[str], widths: Sequence[int], terminal: Console, *, indented: bool) -> None:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, _GAP, 0, 0))
    for width in widths:
        table.add_column(no_wrap=True, width=min(width, terminal.width - _GAP * indented))
    table.add_row(*cells)
    terminal.print(Padding(table, (0, 0, 0, _GAP * indented), expand=False))


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
