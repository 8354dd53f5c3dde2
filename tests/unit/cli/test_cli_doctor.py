"""``hourbell doctor``: what it makes of what it is told, and its exit status."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import httpx
import pytest
from botocore.exceptions import NoCredentialsError
from hourbell.cli import checkup, doctor
from hourbell.cli.checkup import Alarm
from hourbell.local.state import CloudRecord

from tests.unit.cli.conftest import Stage

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
STATS: dict[str, Any] = {
    "at": "2026-11-29T12:00:00.000Z",
    "jobs": {"active": 1, "paused": 0, "completed": 0, "capped": False},
    "oldest_due_age_ms": None,
    "runs": {"since": "2026-11-29T11:00:00.000Z", "dead": 0, "capped": False},
    "lateness_ms": {"p50": 1, "p95": 2, "p99": 3},
    "queues": {"shared": 0, "solo": 0, "pull": 0},
}
DEPLOYMENT: dict[str, Any] = {
    "at": "2026-11-29T12:00:00.000Z",
    "database_at": "2026-11-29T12:00:00.100Z",
    "schema": {"applied": 17, "expected": 17},
    "partitions_through": "2026-12-06",
    "scanners": [
        {"first_shard": 0, "last_shard": 127, "renewed_at": "2026-11-01T00:00:00.000Z"},
        {"first_shard": 0, "last_shard": 63, "renewed_at": "2026-11-29T11:59:30.000Z"},
        {"first_shard": 64, "last_shard": 127, "renewed_at": "2026-11-29T11:59:00.000Z"},
    ],
}


def scanned(*ranges: tuple[int, int, str | None]) -> dict[str, Any]:
    scanners = [{"first_shard": first, "last_shard": last, "renewed_at": at} for first, last, at in ranges]
    return {**DEPLOYMENT, "scanners": scanners}


@pytest.mark.parametrize(("seconds", "level"), [(0, "ok"), (2.5, "ok"), (10, "warn"), (-70, "fail")])
def test_clocks_may_differ_by_what_the_way_takes(seconds: float, level: str):
    check = checkup.check_clock(NOW, NOW + timedelta(seconds=seconds), uncertainty=timedelta(seconds=1))
    assert check.level == level


@pytest.mark.parametrize(("applied", "level"), [(17, "ok"), (16, "fail"), (18, "warn"), (None, "fail")])
def test_the_schema_is_the_one_of_the_release(applied: int | None, level: str):
    found = {**DEPLOYMENT, "schema": {"applied": applied, "expected": 17}}
    assert checkup.check_schema(found).level == level  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("through", "level"), [("2026-12-06", "ok"), ("2026-11-30", "warn"), ("2026-11-28", "fail"), (None, "fail")]
)
def test_partitions_are_made_ahead(through: str | None, level: str):
    found = {**DEPLOYMENT, "partitions_through": through}
    assert checkup.check_partitions(found, today=date(2026, 11, 29)).level == level  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "level"),
    [
        (DEPLOYMENT, "ok"),
        (scanned((0, 127, "2026-11-29T11:55:00.000Z")), "warn"),
        (scanned((0, 63, "2026-11-29T11:59:00.000Z"), (64, 127, "2026-11-29T11:00:00.000Z")), "fail"),
        (scanned((0, 63, "2026-11-29T11:59:00.000Z")), "fail"),
        (scanned((0, 127, None)), "fail"),
    ],
)
def test_every_shard_must_have_been_scanned_a_moment_ago(found: dict[str, Any], level: str):
    assert checkup.check_scanners(found).level == level  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "name", "level"),
    [
        ({"oldest_due_age_ms": 89_000}, "planning", "ok"),
        ({"oldest_due_age_ms": 91_000}, "planning", "warn"),
        ({"oldest_due_age_ms": 301_000}, "planning", "fail"),
        ({"lateness_ms": {"p99": 1_001}}, "lateness", "warn"),
        ({"lateness_ms": {"p99": None}}, "lateness", "ok"),
        ({"runs": {"dead": 1}}, "dead runs", "warn"),
        ({"queues": {"shared": 1_001}}, "waiting", "warn"),
    ],
)
def test_what_is_not_well_with_runs_is_told_with_what_to_do(changes: dict[str, Any], name: str, level: str):
    (check,) = [check for check in checkup.check_stats({**STATS, **changes}) if check.name == name]  # type: ignore[typeddict-item]
    assert check.level == level
    assert bool(check.do) == (level != "ok")


QUEUES = {"shared": 5_000, "shared-dead": 0, "solo": 0, "solo-dead": 0}


@pytest.mark.parametrize(
    ("depths", "level"),
    [
        (QUEUES, "ok"),
        ({**QUEUES, "solo-dead": 1}, "warn"),
        ({}, "fail"),
        *(({name: depth for name, depth in QUEUES.items() if name != gone}, "fail") for gone in QUEUES),
    ],
)
def test_every_queue_must_be_there_and_no_letter_dead(depths: dict[str, int], level: str):
    check = checkup.check_queues(depths)
    assert (check.level, bool(check.do)) == (level, level != "ok")


@pytest.mark.parametrize(
    ("states", "level"),
    [([(False, True)], "ok"), ([(False, True), (True, True)], "fail"), ([(False, False)], "warn"), ([], "fail")],
)
def test_there_must_be_alarms_that_would_tell_and_none_may_ring(states: list[tuple[bool, bool]], level: str):
    alarms = [Alarm(name="hourbell-prod-runs-late", rings=rings, tells=tells) for rings, tells in states]
    check = checkup.check_alarms(alarms)
    assert (check.level, bool(check.do)) == (level, level != "ok")


@pytest.fixture
def well(stage: Stage) -> Stage:
    stage.answer("GET", "/v1/health", {"status": "ok"})
    stage.handlers["GET"] = lambda request: (
        httpx.Response(200, json={**STATS, "at": datetime.now(UTC).isoformat(timespec="milliseconds")})
        if request.url.path == "/v1/stats"
        else stage.replies["GET", request.url.path]
    )
    stage.answer("GET", "/v1/deployment", {**DEPLOYMENT, "partitions_through": "2126-01-01"})
    stage.answer("GET", "/v1/runs", {"items": [], "next_cursor": None})
    return stage


def test_a_deployment_that_is_well_is_status_0(well: Stage):
    result = well.run("doctor")
    assert result.exit_code == 0, result.output
    assert "fail" not in result.output
    assert "migration 17 of 17" in result.output


def test_one_that_is_not_is_status_1_and_says_what_to_do(well: Stage):
    well.answer("GET", "/v1/deployment", {**DEPLOYMENT, "schema": {"applied": 1, "expected": 17}})
    result = well.run("doctor")
    assert result.exit_code == 1
    assert "→ deploy the Data stack" in result.output


def test_a_key_that_may_not_see_the_deployment_is_no_failure(well: Stage):
    well.answer("GET", "/v1/deployment", {"status": 403, "detail": "needs the scope operator"}, 403)
    result = well.run("doctor", "--json")
    assert result.exit_code == 0
    assert {check["name"]: check["level"] for check in json.loads(result.output)}["deployment"] == "skip"


def test_an_api_that_is_not_there_fails_at_once(stage: Stage):
    stage.answer("GET", "/v1/health", {"status": 503, "detail": "the database does not answer"}, 501)
    result = stage.run("doctor")
    assert (result.exit_code, len(result.output.splitlines())) == (1, 1)


class Session:
    """An account in which one dead letter lies and one alarm rings."""

    def client(self, service: str, **_: object) -> Session:
        if service == "cloudwatch":
            raise NoCredentialsError
        return self

    def list_queues(self, **_: object) -> dict[str, Any]:
        return {"QueueUrls": [f"https://sqs/1/hourbell-prod-{name}" for name in QUEUES]}

    def get_queue_attributes(self, **asked: Any) -> dict[str, Any]:
        return {"Attributes": {"ApproximateNumberOfMessages": "1" if asked["QueueUrl"].endswith("dead") else "0"}}


def test_queues_are_looked_at_where_there_is_a_way_to(well: Stage, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor, "_session", lambda _stage: (Session(), {}))
    result = well.run("doctor", "--stage", "prod")
    assert "shared 0, shared-dead 1" in result.output


def test_what_was_asked_for_and_could_not_be_seen_is_not_well(well: Stage, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor, "_session", lambda _stage: (Session(), {}))
    result = well.run("doctor", "--stage", "prod")
    assert "fail  alarms          Unable to locate credentials" in result.output
    assert result.exit_code == 1


def test_the_local_cloud_is_looked_at_without_being_asked(well: Stage, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor, "_session", lambda _stage: (Session(), {}))
    monkeypatch.setattr(doctor, "local_cloud", lambda: CloudRecord(url="https://hourbell.example"))
    asked = json.loads(well.run("doctor", "--json").output)
    monkeypatch.setattr(doctor, "local_cloud", lambda: CloudRecord(url="https://elsewhere.example"))
    not_asked = json.loads(well.run("doctor", "--json").output)
    assert {"queues", "alarms"} <= {check["name"] for check in asked}
    assert not_asked[-1]["level"] == "skip"


def test_an_aws_profile_that_is_not_there_is_not_looked_past(well: Stage, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    result = well.run("doctor", "--stage", "prod")
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "fail  queues" in result.output
    assert "(nobody) could not be found" in result.output


@pytest.mark.parametrize(
    ("run", "target", "level"),
    [
        ({"reason": None, "fire_at": "2026-11-29T11:57:00.000Z"}, {"http": {}}, "fail"),
        ({"reason": None, "fire_at": "2026-11-29T11:57:00.000Z"}, {"pull": {}}, "ok"),
        ({"reason": "target_paused", "fire_at": "2026-11-29T11:57:00.000Z"}, {"http": {}}, "ok"),
        ({"reason": None, "fire_at": "2126-11-29T11:57:00.000Z"}, {"http": {}}, "ok"),
    ],
)
def test_runs_that_wait_for_no_reason_tell_of_workers_that_are_not_there(
    well: Stage, run: dict[str, Any], target: dict[str, Any], level: str
):
    well.answer("GET", "/v1/runs", {"items": [{**run, "target_id": "tgt_01"}], "next_cursor": None})
    well.answer("GET", "/v1/targets/tgt_01", target)
    result = well.run("doctor", "--json")
    assert {check["name"]: check["level"] for check in json.loads(result.output)}["workers"] == level
    assert result.exit_code == (level == "fail")
