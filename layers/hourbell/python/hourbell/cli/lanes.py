"""``hourbell lanes``: how full the lanes are, and dead letters back into them. For operators: needs no API key."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hourbell.cli.confirmation import Yes, confirm
from hourbell.cli.output import AsJson, count, print_json, print_table
from hourbell.domain.run_state import QUEUES, Lane
from hourbell.local.errors import LocalCloudError
from hourbell.local.project import Project, StateDirectory

if TYPE_CHECKING:
    from hourbell.lanes.queues import LaneQueues

app = typer.Typer(no_args_is_help=True, help="The queues between scanner and workers (for operators).")

LOCAL = "local"

Stage = Annotated[
    str, typer.Option("--stage", help="A stage of the account that your AWS credentials open; local: the local cloud.")
]
OneLane = Annotated[str | None, typer.Option("--lane", help="shared or solo; default: both.")]


@app.command()
def show(*, stage: Stage = LOCAL, as_json: AsJson = False) -> None:
    """Show how many messages wait, are delayed, are with a worker, and are dead letters."""
    depths = _ask(stage, lambda queues: [queues.depth(lane) for lane in QUEUES])
    if as_json:
        print_json({"stage": stage, "lanes": [asdict(depth) for depth in depths]})
        return
    print_table(
        ("LANE", "WAITING", "DELAYED", "IN FLIGHT", "DEAD LETTERS"),
        ((depth.lane.value, f"{depth.waiting:,}", f"{depth.delayed:,}", f"{depth.in_flight:,}", f"{depth.dead:,}")
         for depth in depths),
        empty="No lanes.",
    )  # fmt: skip


@app.command()
def redrive(
    *,
    stage: Stage = LOCAL,
    lane: OneLane = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Move dead letters back into their lane, after a question.

    A run that has ended, or is another's, takes no harm from its message.
    """
    wanted = _lanes(lane)
    dead = {} if yes and not dry_run else _dead_letters(stage, wanted)
    if dry_run:
        _say(stage, {name: {"dead": number} for name, number in dead.items()}, as_json=as_json, dry_run=True)
        return
    if any(dead.values()):
        each_lane = ", ".join(f"{name}: {number:,}" for name, number in dead.items())
        confirm(f"Move {count(sum(dead.values()), 'dead letter')} back ({each_lane})?", yes=yes)
    moved = _ask(stage, lambda queues: {each.value: asdict(queues.redrive(each)) for each in wanted})
    _say(stage, moved, as_json=as_json, dry_run=False)


def _dead_letters(stage: str, wanted: tuple[Lane, ...]) -> dict[str, int]:
    dead: dict[str, int] = _ask(stage, lambda queues: {each.value: queues.depth(each).dead for each in wanted})
    return dead


def _say(stage: str, lanes: dict[str, dict[str, int]], *, as_json: bool, dry_run: bool) -> None:
    if as_json:
        print_json({"stage": stage, "dry_run": dry_run, "lanes": lanes})
        return
    for name, numbers in lanes.items():
        if dry_run:
            typer.echo(f"{name}: {count(numbers['dead'], 'dead letter')} to move.")
            continue
        foreign = f" {count(numbers['foreign'], 'message')} not of Hourbell left there." if numbers["foreign"] else ""
        typer.echo(f"{name}: {count(numbers['moved'], 'dead letter')} moved back.{foreign}")


def _lanes(name: str | None) -> tuple[Lane, ...]:
    if name is None:
        return QUEUES
    if name not in QUEUES:
        raise typer.BadParameter("must be shared or solo", param_hint="--lane")
    return (Lane(name),)


def _ask(stage: str, question: Any) -> Any:
    from botocore.exceptions import BotoCoreError

    from hourbell.lanes.queues import QueueError

    try:
        return question(_queues(stage))
    except (QueueError, BotoCoreError) as error:
        raise LocalCloudError(
            f"The lanes of stage {stage} cannot be seen: {error} (AWS_PROFILE and AWS_REGION say where it is)"
        ) from error


def _queues(stage: str) -> LaneQueues:
    from hourbell.lanes.queues import LaneQueues

    if stage != LOCAL:
        import boto3

        return LaneQueues(client=boto3.client("sqs"), stage=stage)
    from hourbell.local.aws import sqs_client
    from hourbell.local.state import Cloud, CloudRecord

    record = CloudRecord.read(StateDirectory.of(Project.find())) or CloudRecord()
    return LaneQueues(client=sqs_client(Cloud.of(record).endpoint), stage=stage)
