"""Long work on a terminal: one line per step with its seconds, or a bar over many things of a kind.

In a pipe the same lines, and neither spinner nor bar.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from hourbell.cli.output import bar_on, console

_DETAIL_WIDTH = 90

# As many things are done before anybody wonders.
FEW = 20

T = TypeVar("T")


def tracked(items: Sequence[T], what: str) -> Iterable[T]:
    """The items, with a bar on a terminal that shows how far they have come; a few need none.

    Errors told meanwhile stand above the bar, which is gone in the end.
    """
    terminal = console(stderr=True)
    if len(items) <= FEW or not terminal.is_terminal:
        return items
    return _with_bar(items, what, terminal)


def _with_bar(items: Sequence[T], what: str, terminal: Console) -> Iterator[T]:
    from rich.progress import track

    with bar_on(terminal):
        yield from track(items, description=what, console=terminal, transient=True)


class StepPrinter:
    """Shows the steps of ``up`` as they go."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status: Status | None = None
        self._name = ""

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Show that ``name`` goes on, then that it is done."""
        started = time.monotonic()
        self._name = name
        with self._console.status(name) as status:
            self._status = status if self._console.is_terminal else None
            yield
        self._status = None
        self._console.print(f"[green]✓[/green] {escape(name)} [dim]{time.monotonic() - started:.1f} s[/dim]")

    def detail(self, text: str) -> None:
        """Show the latest sign of life beside the step."""
        if self._status is not None:
            shortened = text.strip()[:_DETAIL_WIDTH]
            self._status.update(f"{escape(self._name)} [dim]{escape(shortened)}[/dim]")
