"""Targets of every kind over the API: what is taken, what is kept, what the stage and the tenant may not name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hourbell.api.app import Application
from hourbell.api.schemas import REPLIES
from hourbell.domain.ids import encode
from hourbell.domain.target_kind import TargetKind
from hourbell.targets.arns import AllowedTargets

from tests.integration.api.conftest import RULES, Client

HERE = "eu-west-1:123456789012"
LAMBDA = {"arn": f"arn:aws:lambda:{HERE}:function:settle", "invocation": "sync"}
SQS = {"queue_url": "https://sqs.eu-west-1.amazonaws.com/123456789012/settle", "message_group_id": None}
SNS = {"topic_arn": f"arn:aws:sns:{HERE}:settle", "message_group_id": None}
EVENTBRIDGE = {"bus": "default", "source": "payments", "detail_type": "settlement due"}
STEP_FUNCTIONS = {"state_machine_arn": f"arn:aws:states:{HERE}:stateMachine:settle"}
HTTP = {"url": "https://example.com/", "method": "POST", "headers": {}, "secret": None}
KINDS: dict[str, dict[str, Any]] = {
    "http": HTTP,
    "lambda": LAMBDA,
    "sqs": SQS,
    "sns": SNS,
    "eventbridge": EVENTBRIDGE,
    "step_functions": STEP_FUNCTIONS,
    "pull": {},
}


def create(client: Client, *, name: str = "t", **kinds: Any):
    return client.post("/v1/targets", {"name": name, **kinds})


def test_every_kind_is_here():
    assert KINDS.keys() == set(TargetKind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_target_of_any_kind_is_created_read_edited_and_used(client: Client, kind: str):
    created = create(client, **{kind: KINDS[kind]})

    assert created.status == 201, created.text
    target = created.json
    REPLIES["Target"].model_validate(target)
    assert target[kind] == KINDS[kind]
    assert list(target[kind]) == list(KINDS[kind])
    assert not target.keys() & (KINDS.keys() - {kind})
    path = f"/v1/targets/{target['id']}"
    assert client.get(path).json == target
    assert client.patch(path, {"burst": 3}).json == {**target, "burst": 3, "version": 2}
    assert client.job(target="t")["target"] == "t"


@pytest.mark.parametrize("kind", KINDS.keys() - {"pull"})
def test_a_job_may_spell_out_a_target_of_any_kind(client: Client, kind: str):
    job = client.job(target={kind: KINDS[kind]})

    REPLIES["Job"].model_validate(job)
    assert job["target"] == {kind: KINDS[kind]}
    again = client.patch(f"/v1/jobs/{job['id']}", {"payload": 1}).json
    assert again["target"] == job["target"]


def test_a_target_that_is_pulled_needs_a_name(client: Client):
    job = {"schedule": {"every": "1h"}, "target": {"pull": {}}}
    assert client.post("/v1/jobs", job).fields == ["target.pull"]


def test_what_is_left_out_has_a_default(client: Client):
    assert create(client, **{"lambda": {"arn": LAMBDA["arn"]}}).json["lambda"]["invocation"] == "sync"
    assert client.job(target={"sqs": {"queue_url": SQS["queue_url"]}})["target"] == {"sqs": SQS}


def test_a_target_has_exactly_one_kind(client: Client):
    assert create(client).fields == ["http"]
    assert create(client, http=HTTP, sqs=SQS).fields == ["sqs"]
    assert create(client, pigeon={}).fields == ["pigeon"]
    assert create(client, lambda_=LAMBDA).fields == ["lambda_"]
    job = {"schedule": {"every": "1h"}, "target": {}}
    assert client.post("/v1/jobs", job).fields == ["target.http"]
    assert client.post("/v1/jobs", {**job, "target": {"sns": SNS, "sqs": SQS}}).fields == ["target.sns"]


def test_an_edit_may_exchange_the_kind(client: Client):
    path = f"/v1/targets/{create(client, http=HTTP).json['id']}"

    assert client.patch(path, {"sqs": SQS}).fields == ["sqs"]
    edited = client.patch(path, {"sqs": SQS, "http": None}).json
    assert edited["sqs"] == SQS
    assert "http" not in edited


@pytest.mark.parametrize(
    ("kind", "member", "value"),
    [
        ("lambda", "arn", "settle"),
        ("lambda", "arn", f"arn:aws:lambda:{HERE}:function:*"),
        ("lambda", "arn", f"arn:aws:lambda:{HERE}:layer:settle:1"),
        ("lambda", "arn", f"arn:aws:sqs:{HERE}:settle"),
        ("lambda", "invocation", "later"),
        ("sqs", "queue_url", f"arn:aws:sqs:{HERE}:settle"),
        ("sqs", "queue_url", "https://sqs.eu-west-1.amazonaws.com.evil.example/123456789012/settle"),
        ("sqs", "queue_url", "https://sqs.eu-west-1.amazonaws.com@evil.example/123456789012/settle"),
        ("sqs", "queue_url", "http://sqs.eu-west-1.amazonaws.com/123456789012/settle"),
        ("sqs", "queue_url", "https://sqs.eu-west-1.amazonaws.com/123456789012/settle?x=1"),
        ("sqs", "queue_url", "https://sqs.eu-west-1.amazonaws.com/123456789012/../999999999999/settle"),
        ("sqs", "message_group_id", "two words"),
        ("sqs", "message_group_id", "x" * 129),
        ("sqs", "message_group_id", ""),
        ("sns", "topic_arn", f"arn:aws:sns:{HERE}:settle:1111-subscription"),
        ("eventbridge", "bus", "no bus"),
        ("eventbridge", "source", "aws.events"),
        ("eventbridge", "source", ""),
        ("eventbridge", "detail_type", "x" * 129),
        ("step_functions", "state_machine_arn", f"arn:aws:states:{HERE}:execution:settle:1"),
    ],
)
def test_what_names_no_such_resource_is_refused(client: Client, kind: str, member: str, value: str):
    refused = create(client, **{kind: {**KINDS[kind], member: value}})

    assert (refused.status, refused.fields) == (400, [f"{kind}.{member}"])


@pytest.mark.parametrize(
    ("kind", "member", "value"),
    [
        ("lambda", "arn", "arn:aws:lambda:eu-west-1:999999999999:function:settle"),
        ("lambda", "arn", "arn:aws:lambda:eu-west-2:123456789012:function:settle"),
        ("sqs", "queue_url", "https://sqs.eu-west-1.amazonaws.com/999999999999/settle"),
        ("sqs", "queue_url", "http://127.0.0.1:4566/999999999999/settle"),
        ("sns", "topic_arn", "arn:aws:sns:eu-west-1:999999999999:settle"),
        ("eventbridge", "bus", "arn:aws:events:eu-west-1:999999999999:event-bus/default"),
        ("step_functions", "state_machine_arn", "arn:aws:states:eu-west-1:999999999999:stateMachine:settle"),
    ],
)
def test_what_the_stage_does_not_allow_is_refused(client: Client, kind: str, member: str, value: str):
    refused = create(client, **{kind: {**KINDS[kind], member: value}})

    assert (refused.status, refused.fields) == (400, [f"{kind}.{member}"])
    assert "not among the targets that stage test allows" in refused.text
    job = {"schedule": {"every": "1h"}, "target": {kind: {**KINDS[kind], member: value}}}
    assert client.post("/v1/jobs", job).fields == [f"target.{kind}.{member}"]


@pytest.mark.parametrize(
    ("kind", "member", "value"),
    [
        ("lambda", "arn", f"arn:aws:lambda:{HERE}:function:hourbell-test-migrator"),
        ("lambda", "arn", f"arn:aws:lambda:{HERE}:function:hourbell-test-api:live"),
        ("sqs", "queue_url", "https://sqs.eu-west-1.amazonaws.com/123456789012/hourbell-test-shared"),
        ("eventbridge", "bus", "hourbell-test"),
        ("sns", "topic_arn", f"arn:aws:sns:{HERE}:Hourbell-test-Observability-Alarms"),
    ],
)
def test_hourbell_itself_is_no_target(client: Client, kind: str, member: str, value: str):
    refused = create(client, **{kind: {**KINDS[kind], member: value}})

    assert (refused.status, refused.fields) == (400, [f"{kind}.{member}"])
    assert "belongs to Hourbell itself" in refused.text


def test_another_stages_functions_are_targets_like_any_other(client: Client):
    function = {"arn": f"arn:aws:lambda:{HERE}:function:hourbell-test2-consumer", "invocation": "sync"}
    assert create(client, **{"lambda": function}).status == 201


def test_a_stage_that_lists_nothing_has_targets_outside_aws_only(client: Client):
    api = replace(client.application._api, target_rules=lambda: replace(RULES, allowed=AllowedTargets()))
    bare = replace(client, application=Application(api))

    answers = {kind: create(bare, name=kind, **{kind: config}).status for kind, config in KINDS.items()}
    assert answers == {kind: 201 if kind in {"http", "pull"} else 400 for kind in KINDS}


def prefix(client: Client) -> str:
    return f"hourbell/test/targets/{encode('ten', client.tenant_id)}/"


def test_a_tenant_signs_with_its_own_secrets_only(client: Client, stranger: Client):
    own = prefix(client) + "billing"
    assert create(client, http={**HTTP, "secret": own}).json["http"]["secret"] == own

    for name in (
        prefix(stranger) + "billing",
        "hourbell/test/signing-key",
        "hourbell/test/targets/billing",
        "hourbell/prod/targets/billing",
        prefix(client),
        prefix(client).rstrip("/"),
        prefix(client).upper() + "billing",
        "x" + own,
        own + "\n",
        own + " ",
        f"arn:aws:secretsmanager:{HERE}:secret:{own}",
        "",
    ):
        refused = client.post("/v1/targets", {"name": "u", "http": {**HTTP, "secret": name}})
        assert (refused.status, refused.fields) == (400, ["http.secret"]), name
        job = {"schedule": {"every": "1h"}, "target": {"http": {**HTTP, "secret": name}}}
        assert client.post("/v1/jobs", job).fields == ["target.http.secret"], name


def test_a_refused_secret_is_told_how_it_must_begin(client: Client):
    assert prefix(client) in create(client, http={**HTTP, "secret": "mine"}).text
    assert "must be the name of a secret" in create(client, http={**HTTP, "secret": "mine"}).text


def test_an_edit_cannot_bring_in_a_foreign_secret(client: Client, stranger: Client):
    path = f"/v1/targets/{create(client, http=HTTP).json['id']}"
    assert client.patch(path, {"http": {"secret": prefix(stranger) + "x"}}).fields == ["http.secret"]
    assert client.patch(path, {"http": {"secret": prefix(client) + "x"}}).status == 200


def test_every_bad_member_is_named_at_once(client: Client):
    refused = create(client, http={"url": "gopher://x", "headers": {"Host": "a"}, "secret": "mine"})
    assert refused.fields == ["http.url", "http.headers.Host", "http.secret"]


def test_only_http_targets_are_signed(client: Client):
    target = create(client, sqs=SQS).json
    assert client.get(f"/v1/targets/{target['id']}/signing-secret").status == 409
