"""The sample events have the shape that AWS sends and that each handler reads."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hourbell.domain.limits import SHARDS
from hourbell.lanes.deliveries import message_ids, read_event

ROOT = Path(__file__).resolve().parents[2]
EVENTS = ROOT / "events"


def load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))
    return content


def test_every_function_has_a_sample_event():
    functions = {handler.parent.name for handler in (ROOT / "functions").glob("*/handler.py")}
    assert {event.stem for event in EVENTS.glob("*.json")} == functions


@pytest.mark.parametrize("name", ["api", "authorizer"])
def test_http_events_are_payload_format_2(name: str):
    # https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
    event = load(name)
    http = event["requestContext"]["http"]
    assert event["version"] == "2.0"
    assert http["path"] == event["rawPath"]
    assert http["method"] == "GET"
    assert all(header == header.lower() for header in event["headers"])


def test_the_authorizer_event_carries_the_key_where_the_handler_looks():
    # https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-lambda-authorizer.html
    event = load("authorizer")
    assert event["type"] == "REQUEST"
    assert event["identitySource"] == [event["headers"]["authorization"]]
    assert event["headers"]["authorization"].startswith("Bearer hb_live_")


def test_the_worker_event_is_an_sqs_batch_that_reads_as_a_delivery():
    # https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
    event = load("worker")
    (record,) = event["Records"]
    deliveries, unreadable = read_event(event)
    assert unreadable == []
    assert [delivery.message_id for delivery in deliveries] == message_ids(event)
    assert record["eventSource"] == "aws:sqs"
    assert record["md5OfBody"] == hashlib.md5(record["body"].encode(), usedforsecurity=False).hexdigest()
    assert record["attributes"]["MessageGroupId"] == deliveries[0].message.tenant_id.hex


def test_the_scanner_event_is_a_range_of_shards():
    event = load("scanner")
    assert 0 <= event["first_shard"] <= event["last_shard"] < SHARDS


@pytest.mark.parametrize("name", ["reaper", "freezer", "loader", "partitioner"])
def test_clocked_functions_take_an_empty_event(name: str):
    assert load(name) == {}


def test_the_replanner_event_starts_over_where_its_tick_does_what_is_left():
    assert load("replanner") == {"force": True}


def test_the_migrator_event_is_a_custom_resource_update():
    # https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-requesttypes-update.html
    event = load("migrator")
    assert event["RequestType"] == "Update"
    assert event["PhysicalResourceId"] == "hourbell-schema"
    assert event["ResourceProperties"] != event["OldResourceProperties"]
