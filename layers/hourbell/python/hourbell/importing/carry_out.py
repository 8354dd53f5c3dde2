"""An import, carried out through the API: targets first, then each job declared by its name, as often as one likes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from hourbell.client import Client
from hourbell.importing.compare import Comparison, compare
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
    """What is done about a job; None: it was not compared with what there is."""

    job: ImportedJob
    comparison: Comparison | None = None

    @property
    def action(self) -> str:
        """The comparison's, or a dash."""
        return "-" if self.comparison is None else self.comparison.action


def known_targets(client: Client) -> list[ImportedTarget]:
    """The named targets that there are."""
    return [
        ImportedTarget(name=target["name"], kind=kind, config=target[kind])
        for target in client.iter_targets(limit=200)
        for kind in KINDS
        if kind in target
    ]


def compare_all(client: Client, plan: Plan, *, track: Track = untracked) -> list[Step]:
    """What carrying it out would do about each job, the plan's targets made or not."""
    made = {target.name: {target.kind: dict(target.config)} for target in plan.targets}
    named = {target.name for target in known_targets(client)} if made else set()
    missing = {name: target for name, target in made.items() if name not in named}
    return [
        Step(job=job, comparison=compare(client, job.name, _with_target(job.definition, missing)))
        for job in track(plan.jobs, "Comparing")
    ]


def carry_out(client: Client, plan: Plan, *, track: Track = untracked) -> list[Step]:
    """Create the plan's targets, and declare its jobs unless the API refuses one of them."""
    for target in plan.targets:
        client.create_target(target.name, **{target.kind: dict(target.config)})
    steps = compare_all(client, plan, track=track)
    if not any(step.action == "refused" for step in steps):
        _declare(client, steps, track)
    return steps


def _with_target(definition: Mapping[str, Any], missing: Mapping[str, Any]) -> Mapping[str, Any]:
    """A target that is yet to be made is spelled out: the API plans nothing for one that it does not know."""
    target = definition["target"]
    return {**definition, "target": missing[target]} if target in missing else definition


def _declare(client: Client, steps: Sequence[Step], track: Track) -> None:
    changing = [step.job for step in steps if step.action != "unchanged"]
    for job in track(changing, "Importing"):
        client.declare_job(job.name, job.definition)
