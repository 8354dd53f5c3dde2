"""The lanes as an operator sees them, on SQS in process, and through the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import boto3
import pytest
from hourbell.cli import main
from hourbell.domain.run_state import QUEUES, Lane
from hourbell.lanes.messages import LaneMessage, encode_message
from hourbell.lanes.queues import LaneDepth, LaneQueues, QueueError, RedrivenLetters
from moto import mock_aws
from typer.testing import CliRunner

from tests.seeds import T0


@pytest.fixture
def sqs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        client = boto3.client("sqs")
        for lane in QUEUES:
            client.create_queue(QueueName=f"hourbell-prod-{lane}")
            client.create_queue(QueueName=f"hourbell-prod-{lane}-dead")
        yield client


def put(sqs: Any, queue: str, *bodies: str) -> None:
    url = sqs.get_queue_url(QueueName=f"hourbell-prod-{queue}")["QueueUrl"]
    for body in bodies:
        sqs.send_message(QueueUrl=url, MessageBody=body)


def letters(count: int) -> list[str]:
    return [
        encode_message(
            LaneMessage(job_id=UUID(int=n), scheduled_for=T0, tenant_id=UUID(int=9), lane=Lane.SHARED, ready_at=T0)
        )
        for n in range(count)
    ]


def lanes(*arguments: str) -> Any:
    return CliRunner().invoke(main.app, ["lanes", *arguments, "--stage", "prod", "--json"])


def test_depths_tell_what_waits_is_delayed_in_flight_and_dead(sqs: Any):
    put(sqs, "shared", "a", "b", "c")
    put(sqs, "shared-dead", "d", "e")
    url = sqs.get_queue_url(QueueName="hourbell-prod-shared")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="later", DelaySeconds=60)
    sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=1)

    depth = LaneQueues(client=sqs, stage="prod").depth(Lane.SHARED)

    assert depth == LaneDepth(lane=Lane.SHARED, waiting=2, in_flight=1, delayed=1, dead=2)


def test_a_redrive_moves_every_letter_of_ours_and_leaves_the_others(sqs: Any):
    put(sqs, "shared-dead", *letters(23), "foreign")
    queues = LaneQueues(client=sqs, stage="prod")

    assert queues.redrive(Lane.SHARED) == RedrivenLetters(moved=23, foreign=1)

    depth = queues.depth(Lane.SHARED)
    assert (depth.waiting, depth.dead) == (23, 1)


def test_a_letter_that_the_lane_refuses_stays(sqs: Any):
    put(sqs, "solo-dead", *letters(1))

    class Refusing:
        def __getattr__(self, name: str) -> Any:
            return (lambda **_: {"Failed": [{"Id": "0"}]}) if name == "send_message_batch" else getattr(sqs, name)

    assert LaneQueues(client=Refusing(), stage="prod").redrive(Lane.SOLO) == RedrivenLetters(moved=0, foreign=0)
    assert LaneQueues(client=sqs, stage="prod").depth(Lane.SOLO).dead == 1


def test_a_stage_that_does_not_exist_is_an_error(sqs: Any):
    with pytest.raises(QueueError):
        LaneQueues(client=sqs, stage="nowhere").depth(Lane.SHARED)


def test_the_command_line_shows_counts_and_moves(sqs: Any):
    put(sqs, "solo-dead", *letters(2))
    shown = json.loads(lanes("show").stdout)["lanes"]
    assert [(lane["lane"], lane["dead"]) for lane in shown] == [("shared", 0), ("solo", 2)]
    assert json.loads(lanes("redrive", "--dry-run", "--lane", "solo").stdout)["lanes"] == {"solo": {"dead": 2}}
    assert lanes("redrive").exit_code != 0  # nobody has said yes
    moved = json.loads(lanes("redrive", "--yes").stdout)["lanes"]
    assert moved == {"shared": {"moved": 0, "foreign": 0}, "solo": {"moved": 2, "foreign": 0}}
    assert lanes("redrive", "--lane", "pull").exit_code == 2
