"""Long work on a terminal: one line per step with its seconds; in a pipe the same lines, without the spinner."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.status import Status

_DETAIL_WIDTH = 90


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
