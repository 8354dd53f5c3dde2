"""``hourbell runs tail``: runs as they come and as they change."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Annotated

import typer

from hourbell.cli.connection import connect
from hourbell.cli.job_names import JobNames
from hourbell.cli.jobs import find_job_id
from hourbell.cli.output import STATE_STYLES, AsJson, console, print_error
from hourbell.client import Client, Run, UnreachableError
from hourbell.domain.run_state import RunState

_UNFINISHED = ("queued", "running", "retrying")
_PAGE = 200
# Unfinished runs that have left the latest page are asked about one by one, so many at a look.
_STRAYS = 20


def tail(
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
    job: Annotated[str | None, typer.Option(help="Only runs of this job (id or name).")] = None,
    state: Annotated[RunState | None, typer.Option(help="Only runs that come into this state.")] = None,
    lines: Annotated[int, typer.Option("-n", "--lines", min=0, max=_PAGE, help="How many to begin with.")] = 10,
    interval: Annotated[float, typer.Option(min=0.2, help="Seconds between two looks.")] = 1.0,
    as_json: AsJson = False,
) -> None:
    """Show the latest runs; with -f, go on with every new one and every change of state."""
    with connect() as client:
        watch = Watch(client, job_id=find_job_id(client, job) if job else None, state=state)
        names = JobNames(client)
        latest = watch.look()
        _print(latest[-lines:] if lines else [], names, as_json=as_json)
        try:
            while follow:
                time.sleep(interval)
                _print(_look(watch), names, as_json=as_json)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None


class Watch:
    """Remembers what runs were seen in which state."""

    def __init__(self, client: Client, *, job_id: str | None, state: str | None) -> None:
        self._client = client
        self._job_id = job_id
        self._state = state
        self._seen: dict[str, tuple[str, int]] = {}

    def look(self) -> list[Run]:
        """What is new or has changed since the last look, oldest first."""
        page = self._client.list_runs(job=self._job_id, state=self._state, limit=_PAGE)["items"]
        found = [*self._strays({run["id"] for run in page}), *page]
        changed = [run for run in found if self._seen.get(run["id"]) != _standing(run)]
        kept = {run["id"]: _standing(run) for run in found}
        # Runs that have ended and left the page do not come back.
        unfinished = {run_id: seen for run_id, seen in self._seen.items() if seen[0] in _UNFINISHED}
        self._seen = {**unfinished, **kept}
        return sorted(changed, key=lambda run: run["scheduled_for"])

    def _strays(self, listed: set[str]) -> list[Run]:
        if self._state is not None:  # who is listed has come into the state
            return []
        left = [run_id for run_id, seen in self._seen.items() if seen[0] in _UNFINISHED and run_id not in listed]
        return [self._client.get_run(run_id) for run_id in left[:_STRAYS]]


def _look(watch: Watch) -> list[Run]:
    try:
        return watch.look()
    except UnreachableError as error:
        print_error(str(error))
        return []


def _standing(run: Run) -> tuple[str, int]:
    return run["state"], run["attempt"]


def _print(runs: Sequence[Run], names: JobNames, *, as_json: bool) -> None:
    if as_json:
        for run in runs:
            typer.echo(json.dumps(run, ensure_ascii=False))
        return
    named = names.of(runs)
    for run in runs:
        state = f"[{STATE_STYLES.get(run['state'], '')}]{run['state']:<9}[/]"
        console().print(f"{run['scheduled_for']}  {run['id']}  {state}", end="", soft_wrap=True)
        console().print(f"  {named[run['job_id']]}{_details(run)}", markup=False, soft_wrap=True)


def _details(run: Run) -> str:
    late = run["lateness_ms"]
    details = [
        f"attempt {run['attempt']}" if run["attempt"] > 1 else "",
        "" if late is None else f"{late} ms late",
        run["reason"] or "",
        " ".join((run["error"] or "").split()),
    ]
    return "".join(f"  {detail}" for detail in details if detail)
