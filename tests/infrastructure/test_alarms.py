"""What wakes an operator."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from cdk.settings import StageSettings
from tests.infrastructure.templates import Assembly

ROOT = Path(__file__).resolve().parents[2]
RUNBOOK = ROOT / "docs/operations.md"

RUNS = {
    "scanner-heartbeat-missing",
    "runs-dead",
    "runs-overdue",
    "runs-unpulled",
    "jobs-paused",
    "jobs-invalid",
    "events-untold",
    "runs-late",
    "api-5xx",
}
COLD_TIER = {"loader-heartbeat-missing", "cold-hours-late", "cold-segments-broken", "cold-segments-refused"}
LANES = {f"{lane}-{what}" for lane in ("shared", "solo") for what in ("depth", "age", "dead-letters")}
DATABASE = {
    "database-capacity",
    "database-connections-borrow",
    "database-transaction-ids",
    "database-transaction-ids-last",
}


def alarms(assembly: Assembly) -> dict[str, dict[str, object]]:
    found = (resource.properties for resource in assembly.of_type("AWS::CloudWatch::Alarm"))
    return {properties["AlarmName"].split("-", 2)[2]: properties for properties in found}


def expected(settings: StageSettings) -> set[str]:
    functions = {f"{function}-{what}" for function in settings.functions for what in ("errors", "throttles")}
    return RUNS | COLD_TIER | LANES | functions | (DATABASE if settings.network else set())


def test_these_are_the_alarms(assembly: Assembly, settings: StageSettings) -> None:
    assert set(alarms(assembly)) == expected(settings)


def test_every_alarm_has_its_place_in_the_runbook(assembly: Assembly) -> None:
    headings = re.findall(r"^### (.+)$", RUNBOOK.read_text(), re.MULTILINE)
    named = {name for heading in headings for name in heading.split(", ")}
    endings = tuple(name.removeprefix("…") for name in named if name.startswith("…"))
    assert not [name for name in alarms(assembly) if name not in named and not name.endswith(endings)]


def test_every_alarm_speaks_to_the_topic_when_it_begins_and_when_it_ends(assembly: Assembly) -> None:
    for name, alarm in alarms(assembly).items():
        assert alarm["AlarmActions"] == alarm["OKActions"], name
        assert [assembly.text(action) for action in alarm["AlarmActions"]] == ["AlarmTopic"], name
        assert alarm["AlarmDescription"], name


def test_a_loader_that_says_nothing_is_missing(assembly: Assembly) -> None:
    alarm = alarms(assembly)["loader-heartbeat-missing"]
    assert (alarm["MetricName"], alarm["TreatMissingData"]) == ("LoaderHeartbeat", "breaching")


def test_a_scanner_that_says_nothing_is_missing(assembly: Assembly, settings: StageSettings) -> None:
    alarm = alarms(assembly)["scanner-heartbeat-missing"]
    assert (alarm["Namespace"], alarm["MetricName"]) == ("Hourbell", "ScannerHeartbeat")
    assert alarm["Dimensions"] == [{"Name": "Stage", "Value": settings.name}]
    assert alarm["TreatMissingData"] == "breaching"
    assert alarm["Threshold"] == settings.scanners
    assert alarm["ComparisonOperator"] == "LessThanThreshold"


@pytest.mark.parametrize(
    ("alarm", "metric"),
    [
        ("runs-dead", "RunsDead"),
        ("jobs-invalid", "JobsInvalid"),
        ("cold-segments-broken", "ColdSegmentsBroken"),
        ("cold-hours-late", "ColdHoursLate"),
    ],
)
def test_one_dead_run_broken_job_or_segment_is_enough(assembly: Assembly, alarm: str, metric: str) -> None:
    properties = alarms(assembly)[alarm]
    assert properties["MetricName"] == metric
    assert (properties["Threshold"], properties["EvaluationPeriods"]) == (0, 1)


def test_transaction_ids_are_watched_halfway_and_again_at_three_quarters(prod: Assembly) -> None:
    thresholds = [alarms(prod)[f"database-transaction-ids{which}"]["Threshold"] for which in ("", "-last")]
    assert thresholds == [1_000_000_000, 1_500_000_000]


@pytest.mark.parametrize("lane", ["shared", "solo"])
def test_lane_alarms_watch_the_queues_that_exist(assembly: Assembly, lane: str) -> None:
    queues = {resource.properties["QueueName"] for resource in assembly.of_type("AWS::SQS::Queue")}
    for name in (f"{lane}-depth", f"{lane}-age", f"{lane}-dead-letters"):
        (dimension,) = alarms(assembly)[name]["Dimensions"]
        assert dimension["Value"] in queues


def test_cloudwatch_may_publish_to_the_encrypted_topic(assembly: Assembly) -> None:
    topic = assembly.only("AWS::SNS::Topic").properties
    (publish,) = [
        statement
        for statement in assembly.only("AWS::SNS::TopicPolicy").properties["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
    ]
    (use_key,) = [
        statement
        for key in assembly.of_type("AWS::KMS::Key")
        if key.name == assembly.text(topic["KmsMasterKeyId"]).partition(".")[0]
        for statement in key.properties["KeyPolicy"]["Statement"]
        if statement["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    ]
    assert publish["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert publish["Action"] == "sns:Publish"
    assert set(use_key["Action"]) == {"kms:Decrypt", "kms:GenerateDataKey*"}


def test_there_is_one_dashboard(assembly: Assembly, settings: StageSettings) -> None:
    assert assembly.only("AWS::CloudWatch::Dashboard").properties["DashboardName"] == settings.prefix


def emitted() -> set[str]:
    """The metrics that the code writes: names given to ``emit``, or to the API's ``count``."""
    sources = [*(ROOT / "functions").rglob("*.py"), *(ROOT / "layers/hourbell/python/hourbell").rglob("*.py")]
    calls = [
        node
        for source in sources
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in ("emit", "count")
    ]
    given = [argument for call in calls for argument in call.args if isinstance(argument, ast.Dict)]
    return {key.value for names in given for key in names.keys if isinstance(key, ast.Constant)}


def test_alarms_and_dashboard_watch_metrics_that_functions_write(assembly: Assembly) -> None:
    watched = {each["MetricName"] for each in alarms(assembly).values() if each["Namespace"] == "Hourbell"}
    page = assembly.text(assembly.only("AWS::CloudWatch::Dashboard").properties["DashboardBody"])
    shown = set(re.findall(r'"Hourbell","(\w+)","Stage","\w+"', page))
    assert {"LatenessMs", "ColdHoursLate"} <= watched
    assert {"RunsClaimed", "JobsReplanned"} <= shown
    assert watched | shown <= emitted()
