"""``hourbell doctor``: is this deployment well, and if not, what is to be done?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.markup import escape

from hourbell.cli import checkup
from hourbell.cli.checkup import Alarm, Check, Level
from hourbell.cli.connection import connect, local_cloud
from hourbell.cli.output import AsJson, console, print_json
from hourbell.client import ApiError, Client, ClientError, Stats

if TYPE_CHECKING:
    from boto3 import Session

_STYLES = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "bold red", Level.SKIP: "dim"}
_NAME_WIDTH = 14


def doctor(
    *,
    stage: Annotated[
        str | None,
        typer.Option(
            help="Look at the queues and alarms of this stage too, with the AWS credentials at hand: prod. "
            "Those of the local cloud are looked at without it."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check API, clocks, runs, workers, schema, partitions, scanners, queues and alarms. Exit 1 when one fails."""
    checks: list[Check] = []
    with connect() as client:
        for check in _checks(client, stage):
            checks.append(check)
            if not as_json:
                _print(check)
    if as_json:
        print_json([asdict(check) for check in checks])
    if not checkup.is_well(checks):
        raise typer.Exit(1)


def _checks(client: Client, stage: str | None) -> Iterator[Check]:
    try:
        started = time.monotonic()
        client.health()
        took_ms = round((time.monotonic() - started) * 1000)
    except ClientError as error:
        yield Check(name="api", level=Level.FAIL, said=str(error), do="is the URL right, and does the database run?")
        return
    yield Check(name="api", level=Level.OK, said=f"{client.url} answers in {took_ms} ms")
    try:
        yield from _check_own(client)
    except ApiError as error:
        yield Check(name="key", level=Level.FAIL, said=str(error), do="hourbell login, or set HOURBELL_API_KEY")
        return
    yield from _check_deployment(client)
    yield from _check_aws(stage or _local_stage(client))


def _check_own(client: Client) -> Iterator[Check]:
    before = datetime.now(UTC)
    stats: Stats = client.stats()
    after = datetime.now(UTC)
    half = (after - before) / 2
    there = datetime.fromisoformat(stats["at"])
    # Milliseconds are cut in the answer.
    yield checkup.check_clock(before + half, there, uncertainty=half + timedelta(milliseconds=1))
    yield from checkup.check_stats(stats)
    yield checkup.check_workers(_stuck(client, there))


def _stuck(client: Client, now: datetime) -> int:
    """Of the caller's runs; not those that wait for a reason on record, or to be pulled."""
    until = now - checkup.STUCK
    queued = client.list_runs(state="queued", to=until.isoformat(), limit=200)["items"]
    waiting = [run for run in queued if run["reason"] is None and datetime.fromisoformat(run["fire_at"]) <= until]
    pulled = {target_id for target_id in {run["target_id"] for run in waiting} if _is_pulled(client, target_id)}
    return sum(run["target_id"] not in pulled for run in waiting)


def _is_pulled(client: Client, target_id: str) -> bool:
    try:
        return "pull" in client.get_target(target_id)
    except ApiError:  # deleted meanwhile
        return False


def _check_deployment(client: Client) -> Iterator[Check]:
    try:
        found = client.deployment()
    except ApiError as error:
        said = f"schema, partitions and scanners were not looked at: {error}"
        yield Check(name="deployment", level=Level.SKIP, said=said, do="use a key with the scope operator")
        return
    yield checkup.check_schema(found)
    yield checkup.check_database_clock(found)
    yield checkup.check_partitions(found, today=datetime.fromisoformat(found["database_at"]).date())
    yield checkup.check_scanners(found)


def _check_aws(stage: str | None) -> Iterator[Check]:
    if stage is None:
        yield Check(name="aws", level=Level.SKIP, said="queues and alarms were not looked at", do="give --stage")
        return
    from botocore.exceptions import BotoCoreError
    from botocore.exceptions import ClientError as AwsError

    def client(service: Literal["sqs", "cloudwatch"]) -> Any:
        session, options = _session(stage)
        return session.client(service, **options)

    looks: tuple[tuple[str, Callable[[], Check]], ...] = (
        ("queues", lambda: checkup.check_queues(_depths(client("sqs"), stage))),
        ("alarms", lambda: checkup.check_alarms(_alarms(client("cloudwatch"), stage))),
    )
    for name, look in looks:
        try:
            yield look()
        except (BotoCoreError, AwsError) as error:
            said = " ".join(str(error).split())
            yield Check(name=name, level=Level.FAIL, said=said, do="log in to AWS, with AWS_PROFILE and AWS_REGION")


def _local_stage(client: Client) -> str | None:
    """The stage of the local cloud, if it is the one that is asked."""
    record = local_cloud()
    return "local" if record is not None and record.url == client.url else None


def _session(stage: str) -> tuple[Session, dict[str, Any]]:
    """A session of the account, or of the emulator for the stage that lives there."""
    import boto3
    from botocore.config import Config

    if stage != "local":
        return boto3.Session(), {}
    from hourbell.local import aws
    from hourbell.local.project import Project, StateDirectory
    from hourbell.local.state import Cloud, CloudRecord

    record = CloudRecord.read(StateDirectory.of(Project.find())) or CloudRecord()
    endpoint = Cloud.of(record if record.is_up else CloudRecord()).endpoint
    return aws.session(), {"endpoint_url": endpoint, "config": Config(proxies={})}


def _depths(sqs: Any, stage: str) -> dict[str, int]:
    prefix, name = f"hourbell-{stage}-", "ApproximateNumberOfMessages"
    urls = sqs.list_queues(QueueNamePrefix=prefix).get("QueueUrls", [])
    return {
        url.rpartition("/")[2].removeprefix(prefix): int(
            sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name]
        )
        for url in sorted(urls)
    }


def _alarms(cloudwatch: Any, stage: str) -> list[Alarm]:
    pages = cloudwatch.get_paginator("describe_alarms").paginate(AlarmNamePrefix=f"hourbell-{stage}-")
    return [
        Alarm(name=found["AlarmName"], rings=found["StateValue"] == "ALARM", tells=found.get("ActionsEnabled", True))
        for page in pages
        for found in page["MetricAlarms"]
    ]


def _print(check: Check) -> None:
    do = f" [dim]→ {escape(check.do)}[/dim]" if check.do else ""
    level = f"[{_STYLES[check.level]}]{check.level:<4}[/]"
    console().print(f"{level}  {check.name:<{_NAME_WIDTH}}  {escape(check.said)}{do}", soft_wrap=True)
