"""Schedules of EventBridge Scheduler as jobs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hourbell.importing.eventbridge import MEMBER, ROLES, map_schedules
from hourbell.importing.plan import ImportedJob, ImportedTarget, Plan

from tests.seeds import T0

HOME = "eu-west-1:123456789012"
QUEUE = f"arn:aws:sqs:{HOME}:settlements"
FUNCTION = f"arn:aws:lambda:{HOME}:function:settle:live"


def schedule(expression: str = "cron(0 2 * * ? *)", *, target: dict[str, Any] | None = None, **members: Any) -> Any:
    return {
        "Name": "nightly",
        "GroupName": "payments",
        "ScheduleExpression": expression,
        "ScheduleExpressionTimezone": "Europe/Paris",
        "State": "ENABLED",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "CreationDate": datetime(2026, 1, 1, 12, 30, tzinfo=UTC),
        "Target": {"Arn": QUEUE, "RoleArn": "arn:aws:iam::123456789012:role/x", "Input": "{}", **(target or {})},
        **members,
    }


def only(*arguments: Any, **members: Any) -> ImportedJob:
    plan = map_schedules([schedule(*arguments, **members)], now=T0)
    assert (plan.refused, plan.over) == ((), ())
    (job,) = plan.jobs
    return job


def reason(*arguments: Any, **members: Any) -> str:
    plan = map_schedules([schedule(*arguments, **members)], now=T0)
    assert plan.jobs == ()
    (refused,) = plan.refused
    return refused.reason


def test_a_schedule_becomes_a_job():
    plan = map_schedules([schedule(target={"Input": '{"ledger": 7}'})], now=T0)
    assert plan == Plan(
        jobs=(
            ImportedJob(
                source="payments:nightly",
                definition={
                    "name": "payments:nightly",
                    "schedule": {
                        "cron": "0 2 * * *",
                        "timezone": "Europe/Paris",
                        "gap": "skip",
                        "repeat": "once",
                    },
                    "target": "sqs-settlements",
                    "payload": {"ledger": 7},
                    "retry": {"max_attempts": 100, "max_age": "PT86400S"},
                    "tags": {"imported-from": "eventbridge", "group": "payments"},
                },
            ),
        ),
        targets=(
            ImportedTarget(
                name="sqs-settlements",
                kind="sqs",
                config={"queue_url": "https://sqs.eu-west-1.amazonaws.com/123456789012/settlements"},
            ),
        ),
        notes=(ROLES,),
    )


@pytest.mark.parametrize(
    ("expression", "members", "expected"),
    [
        ("rate(5 minutes)", {}, {"every": "PT5M", "anchor": "2026-01-01T12:30:00.000Z"}),
        ("rate(1 hour)", {}, {"every": "PT1H", "anchor": "2026-01-01T12:30:00.000Z"}),
        (
            "rate(2 days)",
            {"StartDate": datetime(2027, 6, 1, tzinfo=UTC)},
            {"every": "P2D", "anchor": "2027-06-01T00:00:00.000Z", "start_at": "2027-06-01T00:00:00.000Z"},
        ),
        (
            "at(2028-02-29T09:00:00)",
            {},
            {"at": "2028-02-29T09:00:00", "timezone": "Europe/Paris", "gap": "skip", "repeat": "once"},
        ),
        (
            "cron(0 9 ? * MON#1 2028)",
            {},
            {
                "cron": "0 9 * * 1#1",
                "timezone": "Europe/Paris",
                "gap": "skip",
                "repeat": "once",
                "start_at": "2027-12-31T23:00:00.000Z",
                "end_at": "2028-12-31T22:59:59.999Z",
            },
        ),
        (
            "cron(0 9 * * ? 2027-2029)",
            {"StartDate": datetime(2028, 5, 1, tzinfo=UTC), "EndDate": datetime(2035, 5, 1, tzinfo=UTC)},
            {
                "cron": "0 9 * * *",
                "timezone": "Europe/Paris",
                "gap": "skip",
                "repeat": "once",
                "start_at": "2028-05-01T00:00:00.000Z",
                "end_at": "2029-12-31T22:59:59.999Z",
            },
        ),
    ],
)
def test_times_and_bounds(expression: str, members: dict[str, Any], expected: dict[str, Any]):
    assert only(expression, **members).definition["schedule"] == expected


def test_without_a_zone_it_is_utc():
    assert only(ScheduleExpressionTimezone=None).definition["schedule"]["timezone"] == "UTC"


@pytest.mark.parametrize(
    ("expression", "members", "why"),
    [
        ("at(2027-05-09T11:00:00)", {"ScheduleExpressionTimezone": "UTC"}, "it has run"),
        ("cron(0 9 * * ? 2026)", {}, "it ended at 2026-12-31T22:59:59.999Z"),
        ("rate(1 hour)", {"EndDate": datetime(2027, 1, 1, tzinfo=UTC)}, "it ended at 2027-01-01"),
        ("cron(0 9 * * ? 2028)", {"EndDate": datetime(2027, 6, 1, tzinfo=UTC)}, "no time in common"),
    ],
)
def test_what_has_nothing_left_to_do_is_over_and_blocks_nothing(expression: str, members: dict[str, Any], why: str):
    plan = map_schedules([schedule(expression, **members)], now=T0)
    assert (plan.jobs, plan.refused) == ((), ())
    assert why in plan.over[0].reason


@pytest.mark.parametrize(
    ("expression", "members", "why"),
    [
        ("rate(5 fortnights)", {}, "is no rate"),
        ("rate(0 minutes)", {}, "is no rate"),
        ("whenever", {}, "neither at"),
        ("cron(0 9 * * * *)", {}, "must be ?"),
        ("cron(0 9 31 2 ? *)", {}, "schedule.cron"),
        ("cron(0 9 * * ? 2028,2030)", {}, "have holes"),
        ("rate(1 hour)", {"ScheduleExpressionTimezone": "Mars/Olympus"}, "not a zone"),
    ],
)
def test_times_without_a_counterpart_are_refused(expression: str, members: dict[str, Any], why: str):
    assert why in reason(expression, **members)


@pytest.mark.parametrize(
    ("target", "name", "kind", "config"),
    [
        ({"Arn": FUNCTION}, "lambda-settle-live", "lambda", {"arn": FUNCTION, "invocation": "async"}),
        (
            {"Arn": f"{QUEUE}.fifo", "SqsParameters": {"MessageGroupId": "ledger"}},
            "sqs-settlements.fifo",
            "sqs",
            {
                "queue_url": "https://sqs.eu-west-1.amazonaws.com/123456789012/settlements.fifo",
                "message_group_id": "ledger",
            },
        ),
        (
            {"Arn": "arn:aws-cn:sqs:cn-north-1:123456789012:q"},
            "sqs-q",
            "sqs",
            {"queue_url": "https://sqs.cn-north-1.amazonaws.com.cn/123456789012/q"},
        ),
        ({"Arn": f"arn:aws:sns:{HOME}:topic"}, "sns-topic", "sns", {"topic_arn": f"arn:aws:sns:{HOME}:topic"}),
        (
            {"Arn": f"arn:aws:states:{HOME}:stateMachine:settle"},
            "step_functions-settle",
            "step_functions",
            {"state_machine_arn": f"arn:aws:states:{HOME}:stateMachine:settle"},
        ),
        (
            {
                "Arn": f"arn:aws:events:{HOME}:event-bus/default",
                "EventBridgeParameters": {"Source": "payments", "DetailType": "due"},
            },
            "eventbridge-default",
            "eventbridge",
            {"bus": f"arn:aws:events:{HOME}:event-bus/default", "source": "payments", "detail_type": "due"},
        ),
    ],
)
def test_targets_become_named_targets(target: dict[str, Any], name: str, kind: str, config: dict[str, Any]):
    plan = map_schedules([schedule(target=target)], now=T0)
    assert plan.targets == (ImportedTarget(name=name, kind=kind, config=config),)
    assert plan.jobs[0].definition["target"] == name
    assert (MEMBER in plan.notes) == (kind not in ("sqs", "sns"))


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ({"Arn": "arn:aws:scheduler:::aws-sdk:sqs:sendMessage"}, "universal target sqs:sendMessage"),
        ({"Arn": f"arn:aws:ecs:{HOME}:cluster/x", "EcsParameters": {}}, "no target kind for ecs"),
        ({"Arn": f"arn:aws:kinesis:{HOME}:stream/x"}, "no target kind for kinesis"),
        ({"Arn": f"arn:aws:events:{HOME}:event-bus/default"}, "without Source and DetailType"),
        ({"Arn": "nonsense"}, "nonsense is no ARN"),
    ],
)
def test_other_targets_are_refused_with_a_way_out(target: dict[str, Any], why: str):
    assert why in reason(target=target)


def test_equal_destinations_share_a_target_and_others_get_a_name_of_their_own():
    elsewhere = QUEUE.replace("eu-west-1", "eu-central-1")
    arns = [QUEUE, QUEUE, elsewhere]
    plan = map_schedules([schedule(Name=f"s{number}", target={"Arn": arn}) for number, arn in enumerate(arns)], now=T0)
    names = [job.definition["target"] for job in plan.jobs]
    assert names[:2] == ["sqs-settlements"] * 2
    assert names[2].startswith("sqs-settlements-")
    assert [target.name for target in plan.targets] == [names[0], names[2]]


def test_a_target_that_is_there_already_is_used_again():
    config = {"queue_url": "https://sqs.eu-west-1.amazonaws.com/123456789012/settlements", "message_group_id": None}
    known = ImportedTarget(name="my queue", kind="sqs", config=config)
    plan = map_schedules([schedule()], known=[known], now=T0)
    assert (plan.jobs[0].definition["target"], plan.targets) == ("my queue", ())


def test_windows_states_and_retries():
    job = only(
        FlexibleTimeWindow={"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15},
        State="DISABLED",
        target={"RetryPolicy": {"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 60}},
    )
    assert job.definition["window"] == "PT15M"
    assert job.definition["paused"] is True
    assert job.definition["retry"] == {"max_attempts": 1, "max_age": "PT60S"}


@pytest.mark.parametrize(
    ("text", "arn", "payload", "note"),
    [
        ('{"a": 1}', QUEUE, {"a": 1}, None),
        ("[1]", QUEUE, [1], None),
        ("plain", QUEUE, "plain", "not JSON"),
        ("[1]", FUNCTION, [1], "arrives as the member payload"),
        ('{"at": "<aws.scheduler.scheduled-time>"}', QUEUE, {"at": "<aws.scheduler.scheduled-time>"}, "not filled in"),
        (None, FUNCTION, None, "Hourbell sends null"),
    ],
)
def test_input_becomes_the_payload(text: str | None, arn: str, payload: Any, note: str | None):
    described = schedule(target={"Arn": arn})
    described["Target"] = {name: value for name, value in described["Target"].items() if name != "Input"}
    if text is not None:
        described["Target"]["Input"] = text
    (job,) = map_schedules([described], now=T0).jobs
    assert json.dumps(job.definition["payload"]) == json.dumps(payload)
    assert note is None if not job.notes else str(note) in " ".join(job.notes)


def test_what_stays_behind_is_said():
    job = only(
        "cron(*/15 * * * ? *)", KmsKeyArn="arn:aws:kms:x", target={"DeadLetterConfig": {"Arn": "arn:aws:sqs:dlq"}}
    )
    said = "\n".join(job.notes)
    assert "arn:aws:sqs:dlq gets nothing more" in said
    assert "arn:aws:kms:x is not used" in said
    assert "the hour that the clock repeats" in said


@pytest.mark.parametrize(
    ("expression", "timezone"),
    [("cron(*/15 * * * ? *)", "UTC"), ("cron(*/15 * * * ? *)", "Asia/Kolkata"), ("cron(0 2 * * ? *)", "Europe/Paris")],
)
def test_clock_changes_are_mentioned_only_where_they_differ(expression: str, timezone: str):
    assert only(expression, ScheduleExpressionTimezone=timezone).notes == ()
