"""What each Lambda function is told, and how it runs."""

from __future__ import annotations

import pytest
from hourbell.settings import (
    ApiSettings,
    AuthorizerSettings,
    ColdSettings,
    MigratorSettings,
    ReaperSettings,
    ScannerSettings,
    SchemaSettings,
    Settings,
    WorkerSettings,
)

from cdk.settings import StageSettings
from tests.infrastructure.templates import Assembly

KINDS: dict[str, type[Settings]] = {
    "api": ApiSettings,
    "authorizer": AuthorizerSettings,
    "freezer": ColdSettings,
    "loader": ColdSettings,
    "migrator": MigratorSettings,
    "partitioner": SchemaSettings,
    "reaper": ReaperSettings,
    "replanner": SchemaSettings,
    "scanner": ScannerSettings,
    "worker-shared": WorkerSettings,
    "worker-solo": WorkerSettings,
}


def test_every_function_of_the_settings_is_deployed_and_no_other(settings: StageSettings, assembly: Assembly) -> None:
    assert set(assembly.functions()) == set(settings.functions) == set(KINDS)


@pytest.mark.parametrize("function", sorted(KINDS))
def test_a_function_gets_exactly_the_variables_its_settings_name(assembly: Assembly, function: str) -> None:
    environment = assembly.environment(assembly.functions()[function])
    assert set(environment) == KINDS[function].variables() | {"PYTHONTZPATH"}
    assert environment["PYTHONTZPATH"] == ""


@pytest.mark.parametrize("function", sorted(KINDS))
def test_a_functions_variables_parse(assembly: Assembly, settings: StageSettings, function: str) -> None:
    parsed = KINDS[function].from_env(assembly.environment(assembly.functions()[function]))
    assert parsed.stage == settings.name


def test_no_function_logs_in_with_a_password_but_the_migrator_when_there_are_no_roles(prod: Assembly) -> None:
    environments = {name: prod.environment(function) for name, function in prod.functions().items()}
    assert {environment["HOURBELL_DATABASE_AUTH"] for environment in environments.values()} == {"iam"}
    assert "user=hourbell_master" in environments["migrator"]["HOURBELL_ADMINISTRATOR"]


def test_each_function_connects_as_its_own_database_role(assembly: Assembly) -> None:
    users = {}
    for name, function in assembly.functions().items():
        conninfo = assembly.environment(function)["HOURBELL_DATABASE"]
        users[name] = dict(part.split("=", 1) for part in conninfo.split())["user"]
    assert users == {
        "migrator": "hourbell_migrator",
        "api": "hourbell_api",
        "authorizer": "hourbell_authorizer",
        "freezer": "hourbell_loader",
        "loader": "hourbell_loader",
        "partitioner": "hourbell_migrator",
        "reaper": "hourbell_scanner",
        "replanner": "hourbell_scanner",
        "scanner": "hourbell_scanner",
        "worker-shared": "hourbell_worker",
        "worker-solo": "hourbell_worker",
    }


def test_connections_to_the_proxy_are_verified(prod: Assembly) -> None:
    for name, function in prod.functions().items():
        conninfo = prod.environment(function)["HOURBELL_DATABASE"]
        expected = "sslmode=require" if name == "migrator" else "sslmode=verify-full"
        assert expected in conninfo


def test_functions_run_python_3_13_with_both_layers_and_json_logs(assembly: Assembly) -> None:
    for function in assembly.functions().values():
        properties = function.properties
        assert properties["Runtime"] == "python3.13"
        assert properties["Handler"] == "handler.handler"
        assert properties["Architectures"] == ["arm64"]
        assert properties["LoggingConfig"]["LogFormat"] == "JSON"
        assert len(properties["Layers"]) == 2


def test_every_log_group_forgets(assembly: Assembly, settings: StageSettings) -> None:
    days = {group.properties["RetentionInDays"] for group in assembly.of_type("AWS::Logs::LogGroup")}
    assert days == {settings.log_retention_days}


def test_functions_that_are_kept_warm_are_called_through_their_alias(prod: Assembly, settings: StageSettings) -> None:
    aliases = {resource.name for resource in prod.of_type("AWS::Lambda::Alias")}
    assert aliases == {"ApiLive", "AuthorizerLive", "WorkerSharedLive", "WorkerSoloLive"}
    for mapping in prod.of_type("AWS::Lambda::EventSourceMapping"):
        assert prod.text(mapping.properties["FunctionName"]).endswith(":live")
    integration = prod.only("AWS::ApiGatewayV2::Integration")
    assert "ApiLive" in prod.text(integration.properties["IntegrationUri"])


def test_workers_alone_have_a_way_out_of_the_network(prod: Assembly) -> None:
    outside = {
        name
        for name, function in prod.functions().items()
        if any("Outbound" in prod.text(subnet) for subnet in function.properties["VpcConfig"]["SubnetIds"])
    }
    assert outside == {"worker-shared", "worker-solo"}
