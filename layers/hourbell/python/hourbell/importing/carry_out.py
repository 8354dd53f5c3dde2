"""An import, carried out through the API: targets first, then each job declared by its name, as often as one likes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, TypeVar

from hourbell.client import ApiError, Client
from hourbell.importing.plan import ImportedJob, ImportedTarget, Plan

Kind: TypeAlias = Literal["http", "lambda", "sqs", "sns", "eventbridge", "step_functions"]
KINDS: tuple[Kind, ...] = ("http", "lambda", "sqs", "sns", "eventbridge", "step_functions")


T = TypeVar("T")


class Track(Protocol):
    """Answers the items one after the other, and may show how far they have come."""

    def __call__(self, items: Sequence[T], what: str) -> Iterable[T]:
        """``what`` is done with them."""
        ...


def untracked(items: Sequence[T], what: str) -> Iterable[T]:
    """Shows nothing."""
    del what
    return items


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is done about a job. ``action``: create, update, unchanged; or refused, with the API's ``reason``."""

    job: ImportedJob
    action: str
    reason: str | None = None


def known_targets(client: Client) -> list[ImportedTarget]:
    """The named targets that there are."""
    return [
        ImportedTarget(name=target["name"], kind=kind, config=target[kind])
        for target in client.iter_targets(limit=200)
        for kind in KINDS
        if kind in target
    ]


def carry_out(client: Client, plan: Plan, *, track: Track = untracked) -> list[Step]:
    """Create the plan's targets, and declare its jobs unless the API refuses one of them."""
    for target in plan.targets:
        client.create_target(target.name, **{target.kind: dict(target.config)})
    steps = [_planned(client, job) for job in track(plan.jobs, "Comparing")]
    if not any(step.action == "refused" for step in steps):
        _declare(client, steps, track)
    return steps


def _planned(client: Client, job: ImportedJob) -> Step:
    try:
        return Step(job=job, action=client.plan_job(job.name, job.definition)["action"])
    except ApiError as error:
        return Step(job=job, action="refused", reason=str(error))


def _declare(client: Client, steps: Sequence[Step], track: Track) -> None:
    changing = [step.job for step in steps if step.action != "unchanged"]
    for job in track(changing, "Importing"):
        client.declare_job(job.name, job.definition)
