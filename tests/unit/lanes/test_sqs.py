"""The lanes on SQS, in process."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import boto3
import pytest
from hourbell.domain.limits import SQS_BATCH, SQS_MAX_DELAY_SECONDS
from hourbell.domain.run_state import Lane
from hourbell.lanes.messages import LaneMessage, decode_message
from hourbell.lanes.sqs import SqsLanes
from moto import mock_aws

from tests.seeds import T0


@pytest.fixture
def sqs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        yield boto3.client("sqs", region_name="eu-central-1")


@pytest.fixture
def lanes(sqs: Any) -> SqsLanes:
    urls = {lane: sqs.create_queue(QueueName=lane)["QueueUrl"] for lane in Lane}
    return SqsLanes(urls=urls, hold_seconds=1, client=lambda: sqs)


def message(number: int, *, lane: Lane = Lane.SHARED, ahead: float = 0) -> LaneMessage:
    return LaneMessage(
        job_id=UUID(int=number),
        scheduled_for=T0,
        tenant_id=UUID(int=9),
        lane=lane,
        ready_at=T0 + timedelta(seconds=ahead),
    )


def received(sqs: Any, url: str) -> list[Any]:
    found = []
    while batch := sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["All"], MessageSystemAttributeNames=["All"]
    ).get("Messages"):
        found += batch
    return found


def test_every_message_arrives_in_its_lane(sqs: Any, lanes: SqsLanes):
    wanted = [message(n) for n in range(25)] + [message(n, lane=Lane.SOLO) for n in range(100, 103)]

    assert lanes.send(wanted, now=T0) == []

    shared, solo = (received(sqs, lanes.urls[lane]) for lane in (Lane.SHARED, Lane.SOLO))
    assert {decode_message(m["Body"]).job_id.int for m in shared} == set(range(25))
    assert {decode_message(m["Body"]).job_id.int for m in solo} == {100, 101, 102}
    assert len(shared) == 25


@pytest.mark.parametrize(
    ("ahead", "delay"),
    [(-5, 0), (0, 0), (1, 0), (1.999, 0), (2, 1), (60.5, 59), (SQS_MAX_DELAY_SECONDS + 500, SQS_MAX_DELAY_SECONDS)],
)
def test_the_delay_ends_a_hold_before_the_run_may_start(ahead: float, delay: int):
    batches = sent_batches(lambda entries: {"Successful": [{"Id": entry["Id"]} for entry in entries]})
    batches.lanes.send([message(1, ahead=ahead)], now=T0)
    assert batches.entries[0]["DelaySeconds"] == delay


def test_messages_are_grouped_by_tenant():
    batches = sent_batches(lambda entries: {"Successful": [{"Id": entry["Id"]} for entry in entries]})
    batches.lanes.send([message(1)], now=T0)
    assert batches.entries[0]["MessageGroupId"] == UUID(int=9).hex


def test_entries_are_answered_one_by_one():
    """SQS takes a batch in part: only what it refused comes back."""
    batches = sent_batches(
        lambda entries: {
            "Successful": [{"Id": entry["Id"]} for entry in entries if entry["Id"] != "3"],
            "Failed": [{"Id": "3", "Code": "InternalError", "SenderFault": False}],
        }
    )
    assert [m.job_id.int for m in batches.lanes.send([message(n) for n in range(8)], now=T0)] == [3]


def test_a_refused_batch_comes_back_whole_and_the_others_go_out():
    from botocore.exceptions import EndpointConnectionError

    def reply(entries: list[Any]) -> Any:
        if decode_message(entries[0]["MessageBody"]).job_id.int == 0:
            raise EndpointConnectionError(endpoint_url="http://127.0.0.1:9")
        return {"Successful": [{"Id": entry["Id"]} for entry in entries]}

    batches = sent_batches(reply)
    unsent = batches.lanes.send([message(n) for n in range(25)], now=T0)
    assert sorted(m.job_id.int for m in unsent) == list(range(SQS_BATCH))
    assert len(batches.entries) == 25


def test_the_backlog_counts_waiting_messages(lanes: SqsLanes):
    lanes.send([message(n) for n in range(3)], now=T0)
    assert lanes.backlog(Lane.SHARED) == 3
    assert lanes.backlog(Lane.SOLO) == 0


def test_what_a_worker_has_taken_is_no_backlog(lanes: SqsLanes):
    lanes.send([message(n) for n in range(3)], now=T0)
    lanes.client().receive_message(QueueUrl=lanes.urls[Lane.SHARED], MaxNumberOfMessages=2)
    assert lanes.backlog(Lane.SHARED) == 1


def test_what_a_worker_keeps_is_not_delivered_again(lanes: SqsLanes):
    lanes.send([message(n) for n in range(12)], now=T0)
    taken = {"QueueUrl": lanes.urls[Lane.SHARED], "MaxNumberOfMessages": 10, "VisibilityTimeout": 0}
    first = [m for _ in range(2) for m in lanes.client().receive_message(**taken)["Messages"]]
    latest = {m["Body"]: m["ReceiptHandle"] for m in first}
    lanes.keep(Lane.SHARED, list(latest.values()), 60)
    assert lanes.backlog(Lane.SHARED) == 12 - len(latest)
    lanes.keep(Lane.SHARED, ["nonsense"], 60)  # refused, and no error of the worker's


class sent_batches:  # noqa: N801 - reads as a phrase where it is used
    """An SQS client that answers as told and remembers the entries it was given."""

    def __init__(self, reply: Any) -> None:
        self.entries: list[dict[str, Any]] = []
        self._reply = reply
        self.lanes = SqsLanes(urls=dict.fromkeys(Lane, "http://queue"), hold_seconds=1, client=lambda: self)

    def send_message_batch(self, *, QueueUrl: str, Entries: list[Any]) -> Any:  # noqa: N803 - boto3's names
        self.entries += Entries
        return self._reply(Entries)
