"""The first API key of a deployment: from the stage's secret into the database, once."""

from __future__ import annotations

import importlib.util
import json
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import boto3
import psycopg
import pytest
from hourbell import environment
from hourbell.environment import SecretError
from hourbell.local.postgres import PostgresServer
from hourbell.services.authenticate import Principal, authenticate
from hourbell.services.first_key import FirstKeyError, ensure_first_key
from hourbell.services.tenants import OPERATOR, SCOPES, create_api_key, create_tenant
from hourbell.store.connection import Database
from moto import mock_aws

from tests.seeds import T0

ROOT = Path(__file__).parents[3]
NAME = "hourbell/test/first-key"
VALUE = "k" * 48


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Secrets Manager, as the function's own client sees it."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        forget()
        yield boto3.client("secretsmanager")
    forget()


def forget() -> None:
    """As in a new execution environment."""
    environment.aws_client.cache_clear()
    environment._secrets.clear()


@pytest.fixture
def migrator(monkeypatch: pytest.MonkeyPatch, postgres: PostgresServer, database_name: str) -> Any:
    """The function itself, wired from its environment, as the owner of the schema."""
    for name, value in {
        "STAGE": "test",
        "DATABASE": postgres.conninfo(database=database_name, user="hourbell_migrator"),
        "DATABASE_AUTH": "none",
        "ADMINISTRATOR": "",
        "ADMINISTRATOR_SECRET": "",
        "FIRST_KEY_SECRET": NAME,
    }.items():
        monkeypatch.setenv(f"HOURBELL_{name}", value)
    spec = importlib.util.spec_from_file_location("handler_migrator", ROOT / "functions" / "migrator" / "handler.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    event = json.loads((ROOT / "events" / "migrator.json").read_text())

    def deploy(request: str = "Update") -> Any:
        forget()
        return module.handler({**event, "RequestType": request}, None)

    return deploy


@pytest.fixture
def owner(postgres: PostgresServer, database_name: str) -> Iterator[psycopg.Connection[Any]]:
    conninfo = postgres.conninfo(database=database_name, user="hourbell_migrator")
    with psycopg.connect(conninfo, autocommit=True) as connection:
        yield connection


@pytest.fixture
def api(postgres: PostgresServer, database_name: str) -> Iterator[Database]:
    """The database as the authorizer sees it."""
    database = Database(postgres.conninfo(database=database_name, user="hourbell_authorizer"))
    yield database
    database.close()


def caller(api: Database, value: str = VALUE) -> Principal | None:
    return authenticate(api, f"Bearer hb_live_{value}", now=T0)


def keys(owner: psycopg.Connection[Any]) -> list[Any]:
    return owner.execute("select tenant.name, api_key.name from api_key join tenant using (tenant_id)").fetchall()


def test_the_first_deploy_makes_a_tenant_and_a_key_that_may_do_everything(secrets, migrator, owner, api):
    secrets.create_secret(Name=NAME, SecretString=VALUE)
    assert migrator("Create")["PhysicalResourceId"] == "hourbell-schema"
    principal = caller(api)
    assert principal is not None
    assert principal.scopes == {*SCOPES, OPERATOR}
    assert keys(owner) == [("default", "first key")]


def test_a_second_deploy_makes_none(secrets, migrator, owner):
    secrets.create_secret(Name=NAME, SecretString=VALUE)
    migrator("Create")
    migrator()
    assert keys(owner) == [("default", "first key")]


def test_rotating_the_secret_afterwards_changes_nothing(secrets, migrator, owner, api):
    secrets.create_secret(Name=NAME, SecretString=VALUE)
    migrator("Create")
    secrets.put_secret_value(SecretId=NAME, SecretString="z" * 48)
    migrator()
    assert caller(api) is not None
    assert caller(api, "z" * 48) is None
    assert len(keys(owner)) == 1


def test_deleting_the_secret_afterwards_does_not_stop_a_deploy(secrets, migrator, api):
    secrets.create_secret(Name=NAME, SecretString=VALUE)
    migrator("Create")
    secrets.delete_secret(SecretId=NAME)
    migrator()
    assert caller(api) is not None


def test_a_revoked_first_key_does_not_come_back(secrets, migrator, owner, api):
    secrets.create_secret(Name=NAME, SecretString=VALUE)
    migrator("Create")
    owner.execute("update api_key set revoked_at = now()")
    secrets.put_secret_value(SecretId=NAME, SecretString="z" * 48)
    migrator()
    assert len(keys(owner)) == 1
    assert caller(api) is caller(api, "z" * 48) is None


def test_a_database_that_has_keys_is_left_alone_and_the_secret_unread(migrator, conninfo, owner):
    administrator = Database(conninfo)
    create_api_key(administrator, create_tenant(administrator, "acme", now=T0), name="ci", now=T0)
    administrator.close()
    migrator()
    assert keys(owner) == [("acme", "ci")]


def test_a_secret_that_cannot_be_read_stops_the_deploy_and_the_next_one_mends_it(secrets, migrator, owner):
    with pytest.raises(SecretError, match=NAME):
        migrator("Create")
    assert keys(owner) == []
    secrets.create_secret(Name=NAME, SecretString=VALUE)
    migrator()
    assert len(keys(owner)) == 1


def test_two_deploys_at_once_make_one_key(postgres, database_name, owner):
    both_found_none = Barrier(2)

    def read_secret() -> str:
        both_found_none.wait(timeout=30)
        return VALUE

    def deploy(_: int) -> bool:
        conninfo = postgres.conninfo(database=database_name, user="hourbell_migrator")
        with psycopg.connect(conninfo, autocommit=True) as connection:
            return ensure_first_key(connection, read_secret, now=T0)

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(deploy, range(2))) == [False, True]
    assert keys(owner) == [("default", "first key")]


@pytest.mark.parametrize(
    "value", ["k" * 31, "k" * 193, "k" * 47 + " ", "k" * 47 + "\n", '{"key": "kkkkkkkkkkkkkkkkkkkkkkkkk"}']
)
def test_a_value_that_no_header_could_carry_or_anybody_could_guess_is_refused(owner, value: str):
    with pytest.raises(FirstKeyError, match="32 to 192"):
        ensure_first_key(owner, lambda: value, now=T0)
    assert keys(owner) == []


def test_the_key_is_in_no_log_and_no_reply(secrets, migrator, caplog: pytest.LogCaptureFixture):
    secrets.create_secret(Name=NAME, SecretString=VALUE)
    with caplog.at_level(logging.DEBUG, logger="handler_migrator"):
        reply = migrator("Create")
    assert caplog.records[-1].first_key_made is True
    assert VALUE not in json.dumps(reply)
    assert not [record for record in caplog.records if record.name == "handler_migrator" and VALUE in str(vars(record))]
