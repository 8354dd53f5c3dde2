"""The demonstration on a screen: a live table on a terminal, a line now and then elsewhere, a summary at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from hourbell.cli.output import describe_schedule
from hourbell.local.demo import Bell, Verdict, Watch
from hourbell.local.receiver import Call

_RECENT = 8
# Title, two rows of column headings, the gap between the tables and the line of the cursor.
_HEADINGS = 5
_LINE_SECONDS = 5.0
_SLOW_MS = 250
_NAMED_FAILURES = 10


@contextmanager
def screen(console: Console) -> Iterator[Watch]:
    """What to hand to ``run_demo``."""
    if not console.is_terminal:
        yield _Lines(console)
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def watch(bells: Sequence[Bell], calls: Sequence[Call], until: datetime) -> None:
            live.update(_picture(bells, calls, until, console.height), refresh=True)

        yield watch


class _Lines:
    """A line every few seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next_at = 0.0

    def __call__(self, bells: Sequence[Bell], calls: Sequence[Call], until: datetime) -> None:
        if time.monotonic() < self._next_at:
            return
        self._next_at = time.monotonic() + _LINE_SECONDS
        left = max(0.0, (until - datetime.now(UTC)).total_seconds())
        latest = f", the latest {calls[-1].lateness_ms or 0:.0f} ms late" if calls else ""
        self._console.print(f"{len(bells)} jobs, {len(calls)} runs received{latest}; {left:.0f} s to go")


def print_summary(console: Console, verdict: Verdict) -> None:
    """What came of it, and what is wrong in so many words."""
    figures = ", ".join(
        f"{name} {verdict.percentile(share):.0f} ms" for name, share in (("p50", 0.5), ("p99", 0.99), ("worst", 1.0))
    )
    console.print(f"{verdict.received} of {verdict.expected} runs received; lateness {figures}")
    for title, found in (("missing", verdict.missing), ("doubled", verdict.doubled), ("late", verdict.late)):
        for line in found[:_NAMED_FAILURES]:
            console.print(f"{title}: {line}", style="red", markup=False)
        if len(found) > _NAMED_FAILURES:
            console.print(f"{title}: {len(found) - _NAMED_FAILURES} more", style="red")
    if verdict.ok:
        console.print("Every run rang, once, within a second.", style="bold green")


def _picture(bells: Sequence[Bell], calls: Sequence[Call], until: datetime, height: int) -> Group:
    """Jobs, and below them as many of the latest runs as the terminal has room for."""
    left = max(0.0, (until - datetime.now(UTC)).total_seconds())
    title = Text.assemble(("Hourbell", "bold"), f"  {len(calls)} runs so far, {left:.0f} s to go")
    room = min(_RECENT, height - len(bells) - _HEADINGS)
    jobs = _jobs_table(bells, calls)
    return Group(title, jobs, "", _runs_table(bells, calls[-room:])) if room > 0 else Group(title, jobs)


def _jobs_table(bells: Sequence[Bell], calls: Sequence[Call]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, title_justify="left")
    for heading in ("JOB", "SCHEDULE", "NEXT"):
        table.add_column(heading)
    for heading in ("RANG", "LATE"):
        table.add_column(heading, justify="right")
    now = datetime.now(UTC)
    for bell in bells:
        own = [call for call in calls if call.job_id == bell.job["id"]]
        table.add_row(
            bell.label,
            describe_schedule(bell.job["schedule"]),
            _next(bell, now),
            f"{len(own)}/{len(bell.occurrences)}" if bell.occurrences else "[dim]-[/dim]",
            _lateness(own[-1]) if own else "[dim]-[/dim]",
        )
    return table


def _runs_table(bells: Sequence[Bell], calls: Sequence[Call]) -> Table:
    names = {bell.job["id"]: bell.label for bell in bells}
    table = Table(box=None, header_style="bold", pad_edge=False, title_justify="left")
    for heading in ("RUN", "JOB", "SCHEDULED FOR"):
        table.add_column(heading)
    table.add_column("LATE", justify="right")
    for call in reversed(calls):
        occurrence = call.scheduled_for
        shown = occurrence.strftime("%H:%M:%S.%f")[:-3] if occurrence else ""
        table.add_row(call.run_id, names.get(call.job_id, ""), shown, _lateness(call))
    return table


def _next(bell: Bell, now: datetime) -> str:
    coming = next((occurrence for occurrence in bell.occurrences if occurrence > now), None)
    if coming is not None:
        return f"in {(coming - now).total_seconds():.1f} s"
    later = [] if bell.occurrences else bell.job.get("next_runs", [])
    return f"[dim]{later[0][:16].replace('T', ' ')}[/dim]" if later else "[dim]-[/dim]"


def _lateness(call: Call) -> str:
    value = call.lateness_ms or 0.0
    style = "green" if value < _SLOW_MS else "yellow"
    return f"[{style}]{value:.0f} ms[/{style}]"
