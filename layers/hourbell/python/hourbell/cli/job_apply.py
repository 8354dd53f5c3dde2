"""``hourbell jobs apply``: the jobs of a file become the jobs of the API."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated

import typer

from hourbell.cli.confirmation import Yes, confirm
from hourbell.cli.connection import connect
from hourbell.cli.job_files import DeclaredJob, read_jobs
from hourbell.cli.job_options import tag_filters
from hourbell.cli.job_plan import PlanLine, print_plan
from hourbell.cli.output import AsJson, count, print_error, print_json
from hourbell.cli.progress import tracked
from hourbell.client import ApiError, Client, Job
from hourbell.importing.compare import compare


def apply(
    *,
    file: Annotated[
        str, typer.Option("--file", "-f", help="YAML or JSON: a list of jobs with names; - reads standard input.")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the plan.")] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete the hot jobs with --tag that are not in the file.")
    ] = False,
    tag: Annotated[
        list[str] | None, typer.Option(help="With --prune: team=payments; several must all be there.")
    ] = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Create and update jobs until they are what a file says. As long as one of them is refused, nothing is done."""
    if prune != bool(tag):
        raise typer.BadParameter("--prune and --tag go together: only jobs with these tags are deleted")
    declared = read_jobs(file)
    with connect() as client:
        plan, planned = _plan(client, declared)
        surplus = _surplus(client, declared, tag or []) if prune else []
        steps = [*plan, *(PlanLine("prune", str(job["name"] or job["id"])) for job in surplus)]
        if not planned or dry_run:
            _print_steps(steps, as_json=as_json)
            if not planned:
                raise typer.Exit(1)
            return
        if surplus:
            confirm(f"Delete {count(len(surplus), 'job')}: {_some(steps[len(plan) :])}?", yes=yes)
        done = _carry_out(client, declared, plan, surplus)
    _print_steps([step for step, is_done in zip(steps, done, strict=True) if is_done], as_json=as_json)
    if not all(done):
        raise typer.Exit(1)


def _plan(client: Client, declared: Sequence[DeclaredJob]) -> tuple[list[PlanLine], bool]:
    """The steps, and whether every job has one; what is refused is told."""
    steps: list[PlanLine] = []
    for job in tracked(declared, "Comparing"):
        found = compare(client, job.name, job.body)
        if found.action == "refused":
            print_error(f"{job.name}: {found.reason}")
        else:
            steps.append(PlanLine(found.action, job.name, found.changes))
    return steps, len(steps) == len(declared)


def _surplus(client: Client, declared: Sequence[DeclaredJob], tags: list[str]) -> list[Job]:
    names = {job.name for job in declared}
    return [job for job in client.iter_jobs(tag=tag_filters(tags), limit=200) if job["name"] not in names]


def _carry_out(
    client: Client, declared: Sequence[DeclaredJob], plan: Sequence[PlanLine], surplus: Sequence[Job]
) -> list[bool]:
    """Whether each step was done; nothing is deleted once something was refused."""
    done = [
        step.action == "unchanged" or _attempt(job.name, partial(client.declare_job, job.name, job.body))
        for job, step in tracked(list(zip(declared, plan, strict=True)), "Applying")
    ]
    for job in tracked(surplus, "Deleting"):
        delete = partial(client.delete_job, job["id"], if_version=job["version"])
        done.append(all(done) and _attempt(str(job["name"] or job["id"]), delete))
    return done


def _attempt(name: str, act: Callable[[], object]) -> bool:
    try:
        act()
    except ApiError as error:
        print_error(f"{name}: {error}")
        return False
    return True


def _print_steps(steps: Sequence[PlanLine], *, as_json: bool) -> None:
    if as_json:
        return print_json([{"action": step.action, "name": step.name, "changes": list(step.changes)} for step in steps])
    return print_plan(steps)


def _some(steps: Sequence[PlanLine], limit: int = 5) -> str:
    names = ", ".join(step.name for step in steps[:limit])
    return names if len(steps) <= limit else f"{names} and {len(steps) - limit} more"
