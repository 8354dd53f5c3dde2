"""``hourbell targets``: what it sends, and what it shows."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.unit.cli.conftest import Stage

TARGET: dict[str, Any] = {
    "id": "tgt_01",
    "name": "billing",
    "state": "active",
    "version": 3,
    "http": {"url": "https://example.com/settle", "method": "POST", "headers": {}, "secret": None},
    "rate_per_second": 50,
    "burst": None,
    "max_concurrency": 20,
    "created_at": "2026-11-29T12:00:00.000Z",
    "updated_at": "2026-11-29T12:00:00.000Z",
}


@pytest.fixture
def target(stage: Stage) -> Stage:
    stage.answer("GET", "/v1/targets", {"items": [TARGET], "next_cursor": None})
    stage.answer("PATCH", "/v1/targets/tgt_01", TARGET)
    stage.answer("POST", "/v1/targets", TARGET, 201)
    return stage


def test_targets_are_listed_with_where_they_lead(target: Stage):
    output = target.run("targets", "list").output
    assert "https://example.com/settle" in output
    assert "billing" in output


@pytest.mark.parametrize(
    ("arguments", "member"),
    [
        (
            ("--url", "https://example.com/", "--header", "X-Team: web", "--method", "PUT"),
            {"http": {"url": "https://example.com/", "headers": {"X-Team": "web"}, "method": "PUT"}},
        ),
        (("--lambda", "arn:aws:lambda:f"), {"lambda": {"arn": "arn:aws:lambda:f"}}),
        (("--sqs", "https://sqs/q"), {"sqs": {"queue_url": "https://sqs/q"}}),
        (("--sns", "arn:t"), {"sns": {"topic_arn": "arn:t"}}),
        (
            ("--eventbridge", "arn:aws:events:r:a:event-bus/b/pay/due now"),
            {"eventbridge": {"bus": "arn:aws:events:r:a:event-bus/b", "source": "pay", "detail_type": "due now"}},
        ),
        (("--pull",), {"pull": {}}),
        (("--step-functions", "arn:s"), {"step_functions": {"state_machine_arn": "arn:s"}}),
    ],
)
def test_each_kind_has_its_option(target: Stage, arguments: tuple[str, ...], member: dict[str, Any]):
    result = target.run("targets", "create", "billing", *arguments, "--rate-per-second", "0.5", "--burst", "2")
    assert result.exit_code == 0
    assert target.sent() == {"name": "billing", **member, "rate_per_second": 0.5, "burst": 2}


def test_an_edit_merges_and_takes_limits_away(target: Stage):
    assert target.run("targets", "edit", "billing", "--url", "https://b/", "--no", "rate_per_second").exit_code == 0
    assert target.sent() == {"http": {"url": "https://b/"}, "rate_per_second": None}
    assert target.seen[-1].headers["if-match"] == '"3"'


def test_pause_resume_and_delete(target: Stage):
    target.answer("POST", "/v1/targets/tgt_01/pause", {**TARGET, "state": "paused"})
    target.answer("POST", "/v1/targets/tgt_01/resume", TARGET)
    target.replies[("DELETE", "/v1/targets/tgt_01")] = httpx.Response(204)
    assert "paused" in target.run("targets", "pause", "billing").output
    assert "active" in target.run("targets", "resume", "billing").output
    assert target.run("targets", "delete", "billing").output.strip() == "tgt_01 deleted"


def test_several_targets_are_deleted_after_a_question_with_their_number(target: Stage):
    target.answer("GET", "/v1/targets/tgt_02", {**TARGET, "id": "tgt_02", "name": "ledger"})
    target.handlers["DELETE"] = lambda _: httpx.Response(204)

    refused = target.run("targets", "delete", "billing", "tgt_02", stdin="n\n")

    assert refused.exit_code == 1
    assert "Delete 2 targets: billing, ledger?" in refused.stderr
    assert {request.method for request in target.seen} == {"GET"}
    deleted = target.run("targets", "delete", "billing", "tgt_02", "--yes")
    assert deleted.output == "tgt_01 deleted\ntgt_02 deleted\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("create", "billing"),
        ("create", "billing", "--url", "u", "--header", "X"),
        ("create", "billing", "--eventbridge", "bus"),
        ("edit", "billing"),
        ("edit", "billing", "--no", "everything"),
    ],
)
def test_wrong_usage_is_status_2(target: Stage, arguments: tuple[str, ...]):
    assert target.run("targets", *arguments).exit_code == 2


TESTED: dict[str, Any] = {
    "id": "run_01",
    "state": "finished",
    "outcome": "succeeded",
    "status_code": 204,
    "duration_ms": 12,
    "error": None,
    "sent": {
        "method": "POST",
        "to": "https://example.com/settle",
        "headers": {"Hourbell-Test": "true", "webhook-signature": "***"},
        "body": '{"n":7}',
    },
}


def test_a_test_shows_what_was_sent_and_answered(target: Stage):
    target.answer("POST", "/v1/targets/tgt_01/test", TESTED)

    result = target.run("targets", "test", "billing", "--payload", '{"n": 7}')

    assert result.exit_code == 0, result.output
    assert target.sent() == {"payload": {"n": 7}}
    for shown in ("succeeded", "204", "12 ms", "POST https://example.com/settle", "Hourbell-Test", '{"n":7}', "run_01"):
        assert shown in result.output


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"outcome": "failed", "status_code": 401, "error": "HTTP 401: who are you?"}, "who are you?"),
        (
            {"state": "pending", "outcome": None, "status_code": None, "duration_ms": None, "sent": None},
            "No worker had a result in time",
        ),
    ],
    ids=["failed", "pending"],
)
def test_a_test_that_did_not_succeed_fails(target: Stage, members: dict[str, Any], said: str):
    target.answer("POST", "/v1/targets/tgt_01/test", {**TESTED, **members})

    result = target.run("targets", "test", "billing")

    assert result.exit_code == 1
    assert said in result.output + result.stderr


@pytest.mark.parametrize(
    ("answer", "output", "status"),
    [
        ({"signing_secret": "whsec_x", "secret": None}, "whsec_x\n", 0),
        ({"signing_secret": None, "secret": "hourbell/prod/targets/t"}, "", 1),
    ],
)
def test_the_key_of_a_targets_signatures_is_printed_alone(stage: Stage, answer: dict, output: str, status: int):
    stage.answer("GET", "/v1/targets/tgt_01", {"id": "tgt_01", "name": "billing"})
    stage.answer("GET", "/v1/targets/tgt_01/signing-secret", answer)
    result = stage.run("targets", "secret", "tgt_01")
    assert (result.stdout, result.exit_code) == (output, status)
