"""The whole permission table: what each function may do, and on what."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdk.settings import PROD, StageError
from tests.infrastructure.templates import Assembly, Synthesise, as_list

SHARED, SOLO = "LanesSharedQueue.Arn", "LanesSoloQueue.Arn"
EVENT_BUS = "RunEventsBus.Arn"
BOTH_LANES = {SHARED, SOLO}
SIGNING_KEY, FIRST_KEY = "SigningKeySecret", "FirstKeySecret"
TARGET_SECRETS = "arn::secretsmanager:::secret:hourbell/{stage}/targets/*"
CONSUME = (
    "sqs:ChangeMessageVisibility",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:GetQueueUrl",
    "sqs:ReceiveMessage",
)
NETWORK_INTERFACES = {
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
}
LOGS = {"logs:CreateLogStream", "logs:PutLogEvents"}

Table = dict[str, dict[str, set[str]]]


def connect(role: str) -> dict[str, set[str]]:
    return {"rds-db:connect": {f"arn::rds-db:::dbuser:AuroraClusterProxy.DBProxyArn/{role}"}}


def send() -> dict[str, set[str]]:
    return {"sqs:SendMessage": BOTH_LANES}


def watch() -> dict[str, set[str]]:
    return {"sqs:GetQueueAttributes": BOTH_LANES}


def read_secrets(*names: str) -> dict[str, set[str]]:
    return {"secretsmanager:GetSecretValue": set(names)}


# What targets may name: nothing in production before its settings say so, everything in the laptop's own account.
CALL_TARGETS: dict[str, dict[str, set[str]]] = {
    "prod": {},
    "local": {
        "events:PutEvents": {"arn::events:::event-bus/*"},
        "lambda:InvokeFunction": {"arn::lambda:::function:*"},
        "sns:Publish": {"arn::sns:::*"},
        "sqs:SendMessage": {"arn::sqs:::*"},
        "states:StartExecution": {"arn::states:::stateMachine:*"},
    },
}


def worker(lane: str, stage: str) -> dict[str, set[str]]:
    secrets = read_secrets(SIGNING_KEY, TARGET_SECRETS.format(stage=stage))
    table = {**send(), **secrets, **{action: {lane} for action in CONSUME}}
    for action, resources in CALL_TARGETS[stage].items():
        table[action] = table.get(action, set()) | resources
    return table


BUCKET = {"prod": "ColdBucket.Arn", "local": "arn::s3:::hourbell-local-cold"}
DATA_KEY = "Key.Arn"


def read_segments(stage: str) -> dict[str, set[str]]:
    bucket = BUCKET[stage]
    return {
        "s3:GetObject": {f"{bucket}/cold/*"},
        "s3:GetObjectVersion": {f"{bucket}/cold/*"},
        "s3:ListBucket": {bucket},
        "kms:Decrypt": {DATA_KEY},
    }


def keep_segments(stage: str) -> dict[str, set[str]]:
    write = {action: {f"{BUCKET[stage]}/cold/*"} for action in ("s3:DeleteObject", "s3:PutObject")}
    return {**read_segments(stage), **write, "kms:GenerateDataKey": {DATA_KEY}}


def expected(stage: str) -> Table:
    return {
        "api": {**send(), **read_segments(stage), **read_secrets(SIGNING_KEY)},
        "authorizer": {},
        "freezer": keep_segments(stage),
        "loader": read_segments(stage),
        "migrator": read_secrets(FIRST_KEY),
        "partitioner": {},
        "reaper": {**send(), **watch(), "events:PutEvents": {EVENT_BUS}},
        "replanner": {},
        "scanner": {**send(), **watch()},
        "worker-shared": worker(SHARED, stage),
        "worker-solo": worker(SOLO, stage),
    }


PROD_DATABASE: Table = {
    "api": connect("hourbell_api"),
    "authorizer": connect("hourbell_authorizer"),
    "freezer": connect("hourbell_loader"),
    "loader": connect("hourbell_loader"),
    # past the proxy, which lets nobody in before there are roles
    "migrator": {
        "rds-db:connect": {"arn::rds-db:::dbuser:AuroraCluster.DBClusterResourceId/hourbell_migrator"},
        **read_secrets(FIRST_KEY, "AuroraCluster.MasterUserSecret.SecretArn"),
    },
    "partitioner": connect("hourbell_migrator"),
    "reaper": connect("hourbell_scanner"),
    "replanner": connect("hourbell_scanner"),
    "scanner": connect("hourbell_scanner"),
    "worker-shared": connect("hourbell_worker"),
    "worker-solo": connect("hourbell_worker"),
}


def granted(assembly: Assembly) -> Table:
    """What the policies allow, less what every function may do: write its own log and, in a VPC, be attached to it."""
    table: Table = {}
    for name, function in assembly.functions().items():
        actions = table.setdefault(name, {})
        role = function.properties["Role"]["Fn::GetAtt"][0]
        for statement in assembly.statements(role, function.stack):
            allowed = set(as_list(statement["Action"]))
            if statement["Effect"] == "Deny" or allowed in (LOGS, NETWORK_INTERFACES):
                continue
            for action in allowed:
                resources = {assembly.text(resource) for resource in as_list(statement["Resource"])}
                actions.setdefault(action, set()).update(resources)
    return table


def test_in_production_each_function_may_do_this_and_nothing_else(prod: Assembly) -> None:
    table = expected("prod")
    assert granted(prod) == {name: {**table[name], **PROD_DATABASE[name]} for name in table}


def test_on_a_laptop_each_function_may_do_this_and_nothing_else(local: Assembly) -> None:
    assert granted(local) == expected("local")


def test_a_function_writes_its_own_log_only(assembly: Assembly) -> None:
    for function in assembly.functions().values():
        group = assembly.text(function.properties["LoggingConfig"]["LogGroup"])
        role = function.properties["Role"]["Fn::GetAtt"][0]
        statements = assembly.statements(role, function.stack)
        logs = [statement for statement in statements if set(as_list(statement["Action"])) == LOGS]
        assert [assembly.text(statement["Resource"]) for statement in logs] == [f"{group}.Arn"]


def test_a_functions_own_code_may_not_touch_network_interfaces(prod: Assembly) -> None:
    for function in prod.functions().values():
        role = function.properties["Role"]["Fn::GetAtt"][0]
        (deny,) = [statement for statement in prod.statements(role, function.stack) if statement["Effect"] == "Deny"]
        own = prod.text(deny["Condition"]["ArnEquals"]["lambda:SourceFunctionArn"])
        assert own.endswith(f":function:{function.properties['FunctionName']}")
        assert set(deny["Action"]) == NETWORK_INTERFACES


def test_the_proxy_logs_in_as_its_six_roles(prod: Assembly) -> None:
    (statement,) = [
        statement
        for role in prod.of_type("AWS::IAM::Role")
        if role.name == "AuroraProxyRole"
        for statement in prod.statements(role.id, role.stack)
    ]
    roles = {prod.text(resource).rpartition("/")[2] for resource in statement["Resource"]}
    assert statement["Action"] == "rds-db:connect"
    assert roles == {
        "hourbell_api",
        "hourbell_authorizer",
        "hourbell_loader",
        "hourbell_migrator",
        "hourbell_scanner",
        "hourbell_worker",
    }


def test_no_function_has_a_managed_policy(assembly: Assembly) -> None:
    for role in assembly.of_type("AWS::IAM::Role"):
        assert "ManagedPolicyArns" not in role.properties, role.id


def test_workers_may_call_exactly_what_the_stage_allows_and_the_api_nothing(synthesise: Synthesise) -> None:
    allowed = (
        "arn:aws:lambda:eu-west-1:111122223333:function:settle",
        "arn:aws:lambda:eu-west-1:111122223333:function:settle:*",
        "arn:aws:sqs:{region}:{account}:payments-*",
        "arn:aws:states:eu-west-1:111122223333:stateMachine:close-of-day",
    )
    assembly = synthesise(replace(PROD, allowed_targets=allowed))
    table = granted(assembly)
    for name in ("worker-shared", "worker-solo"):
        assert table[name]["lambda:InvokeFunction"] == set(allowed[:2])
        assert table[name]["sqs:SendMessage"] == BOTH_LANES | {"arn:aws:sqs:::payments-*"}
        assert table[name]["states:StartExecution"] == {allowed[3]}
        assert not {"sns:Publish", "events:PutEvents"} & table[name].keys()
    assert table["api"] == {**expected("prod")["api"], **PROD_DATABASE["api"]}
    for name in ("api", "worker-shared", "worker-solo"):
        told = assembly.environment(assembly.functions()[name])["HOURBELL_ALLOWED_TARGETS"]
        assert told == " ".join(allowed).format(region="", account="")


@pytest.mark.parametrize(
    "pattern",
    ["*", "arn:aws:s3:::bucket", "arn:aws:*:eu-west-1:1:x", "arn:aws:sqs:eu-west-1:1:a b", "https://sqs/1/q", ""],
)
def test_a_stage_may_allow_targets_of_the_known_kinds_only(pattern: str) -> None:
    with pytest.raises(StageError, match="allowed_targets"):
        replace(PROD, allowed_targets=(pattern,))


def test_a_list_of_targets_that_no_environment_could_hold_is_refused() -> None:
    with pytest.raises(StageError, match="allowed_targets"):
        replace(PROD, allowed_targets=("arn:aws:sqs:eu-west-1:111122223333:queue",) * 60)
