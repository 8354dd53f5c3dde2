"""How a plan of jobs is told: a line for each job that something is done about, and a count of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import typer

_ACTIONS = ("create", "update", "unchanged", "prune", "refused")


class PlanLine(NamedTuple):
    """What is done about one job. ``action``: create, update, unchanged, prune or refused; ``changes``: its members."""

    action: str
    name: str
    changes: Sequence[str] = ()


def print_plan(lines: Sequence[PlanLine]) -> None:
    """Print it as text."""
    for line in lines:
        if line.action != "unchanged":
            typer.echo(f"{line.action:<9} {line.name}" + (f" ({', '.join(line.changes)})" if line.changes else ""))
    counts = [(action, sum(line.action == action for line in lines)) for action in _ACTIONS]
    typer.echo(", ".join(f"{number} {action}" for action, number in counts if number) or "No jobs.")
