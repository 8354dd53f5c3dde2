"""The schedules of an AWS account (moto's), from there to the jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from hourbell.testing import Engine
from moto import mock_aws

from tests.integration.importing.conftest import Command, actions

HOME = "eu-west-1:123456789012"


@pytest.fixture
def scheduler(command: Command) -> Iterator[Any]:
    """With what is to be found in an account that has grown."""
    with mock_aws():
        client = boto3.client("scheduler", region_name="eu-west-1")
        client.create_schedule_group(Name="payments")
        put(
            client,
            "settle",
            "cron(0 9 ? * MON-FRI 2028)",
            f"arn:aws:sqs:{HOME}:settlements",
            group="payments",
            ScheduleExpressionTimezone="Europe/Paris",
            FlexibleTimeWindow={"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 10},
        )
        put(client, "report", "rate(6 hours)", f"arn:aws:lambda:{HOME}:function:report", group="payments")
        put(client, "remind", "at(2030-01-01T09:00:00)", f"arn:aws:sqs:{HOME}:settlements", State="DISABLED")
        yield client


def put(client: Any, name: str, expression: str, arn: str, *, group: str = "default", **members: Any) -> None:
    client.create_schedule(
        Name=name,
        GroupName=group,
        ScheduleExpression=expression,
        Target={
            "Arn": arn,
            "RoleArn": "arn:aws:iam::123456789012:role/scheduler",
            "Input": json.dumps({"from": name}),
            "RetryPolicy": {"MaximumRetryAttempts": 3, "MaximumEventAgeInSeconds": 600},
            "DeadLetterConfig": {"Arn": f"arn:aws:sqs:{HOME}:dead"},
        },
        **{"FlexibleTimeWindow": {"Mode": "OFF"}, **members},
    )


def test_every_schedule_becomes_a_job_and_every_destination_a_target(engine: Engine, command: Command, scheduler: Any):
    assert actions(command("eventbridge", "--region", "eu-west-1", "--json")) == ["create"] * 3

    jobs = {job["name"]: job for job in engine.client.iter_jobs()}
    assert set(jobs) == {"payments:settle", "payments:report", "default:remind"}
    settle = jobs["payments:settle"]
    assert settle["schedule"]["cron"] == "0 9 * * 1-5"
    assert settle["schedule"]["timezone"] == "Europe/Paris"
    assert settle["schedule"]["end_at"] == "2028-12-31T22:59:59.999Z"
    assert settle["next_run_at"] == "2028-01-03T08:00:00.000Z"
    assert settle["window"] == "PT10M"
    assert settle["payload"] == {"from": "settle"}
    assert (settle["retry"]["max_attempts"], settle["retry"]["max_age"]) == (4, "PT10M")
    assert settle["tags"] == {"imported-from": "eventbridge", "group": "payments"}
    assert jobs["payments:report"]["schedule"]["every"] == "PT6H"
    assert jobs["default:remind"]["state"] == "paused"
    targets = {target["name"]: target for target in engine.client.iter_targets()}
    assert targets["sqs-settlements"]["sqs"]["queue_url"].endswith("/123456789012/settlements")
    assert targets["lambda-report"]["lambda"] == {
        "arn": f"arn:aws:lambda:{HOME}:function:report",
        "invocation": "async",
    }


def test_a_second_import_leaves_everything_alone(engine: Engine, command: Command, scheduler: Any):
    bus = f"arn:aws:events:{HOME}:event-bus/default"
    put(scheduler, "event", "rate(1 day)", bus)
    target = scheduler.get_schedule(Name="event")["Target"]
    target["EventBridgeParameters"] = {"Source": "payments", "DetailType": "due"}
    scheduler.update_schedule(
        Name="event", ScheduleExpression="rate(1 day)", Target=target, FlexibleTimeWindow={"Mode": "OFF"}
    )
    put(scheduler, "topic", "rate(1 day)", f"arn:aws:sns:{HOME}:topic")
    put(scheduler, "machine", "rate(1 day)", f"arn:aws:states:{HOME}:stateMachine:settle")
    assert actions(command("eventbridge", "--region", "eu-west-1", "--json")) == ["create"] * 6
    targets = list(engine.client.iter_targets())
    assert actions(command("eventbridge", "--region", "eu-west-1", "--json")) == ["unchanged"] * 6
    assert list(engine.client.iter_targets()) == targets


def test_one_group_alone_may_be_imported(engine: Engine, command: Command, scheduler: Any):
    assert actions(command("eventbridge", "--region", "eu-west-1", "--group", "payments", "--json")) == ["create"] * 2


def test_what_does_not_map_stops_the_import_until_it_may_be_left_out(engine: Engine, command: Command, scheduler: Any):
    put(scheduler, "universal", "rate(1 hour)", "arn:aws:scheduler:::aws-sdk:sqs:sendMessage")
    result = command("eventbridge", "--region", "eu-west-1")
    assert result.exit_code == 1
    assert "universal target sqs:sendMessage" in result.stdout
    assert "--skip-unmapped leaves them out" in result.stderr
    assert list(engine.client.iter_jobs()) == []
    assert list(engine.client.iter_targets()) == []

    assert actions(command("eventbridge", "--region", "eu-west-1", "--skip-unmapped", "--json")) == ["create"] * 3


def test_a_dry_run_makes_no_targets_and_compares_as_if_they_were_made(engine: Engine, command: Command, scheduler: Any):
    dry = ("eventbridge", "--region", "eu-west-1", "--dry-run", "--json")
    assert actions(command(*dry)) == ["create"] * 3
    assert list(engine.client.iter_targets()) == []

    command("eventbridge", "--region", "eu-west-1")
    assert actions(command(*dry)) == ["unchanged"] * 3


def test_a_dry_run_without_an_api_asks_aws_alone(command: Command, scheduler: Any, monkeypatch):
    monkeypatch.setenv("HOURBELL_URL", "https://hourbell.example")
    monkeypatch.delenv("HOURBELL_API_KEY", raising=False)
    result = command("eventbridge", "--region", "eu-west-1", "--dry-run")
    assert result.exit_code == 0
    assert "target lambda-report: lambda" in result.stdout
    assert "dead runs stay with their error" in result.stdout
    assert result.stdout.count("not compared with the jobs that there are") == 1


def test_an_account_that_cannot_be_read_is_one_line(command: Command, monkeypatch):
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    result = command("eventbridge", "--profile", "nobody", "--dry-run")
    assert result.exit_code == 1
    assert "EventBridge Scheduler cannot be read: The config profile (nobody) could not be found" in str(
        result.exception
    )
