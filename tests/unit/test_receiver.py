"""What target owners rely on: only Hourbell's calls pass, and each run's work is done once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import UUID

import boto3
import psycopg
import pytest
from hourbell.domain.ids import encode
from hourbell.receiver import DynamoLedger, PostgresLedger, SignatureError, verify
from hourbell.targets.call import TargetCall
from hourbell.targets.http import request_headers
from hourbell.targets.signature import format_secret
from moto import mock_aws

from tests.seeds import T0

KEY = b"0123456789abcdef0123456789abcdef"
SECRET = format_secret(KEY)
NOW = T0.timestamp()
BODY = json.dumps({"n": 1}).encode()


@pytest.fixture
def headers() -> dict[str, str]:
    """As a worker sends them."""
    call = TargetCall(
        config={"url": "https://sink.example/", "method": "POST", "headers": {}, "secret": None},
        payload=BODY.decode(),
        target_id=UUID(int=6),
        timeout=timedelta(seconds=5),
        run_id=UUID(int=7),
        job_id=UUID(int=8),
        scheduled_for=T0,
        attempt=2,
        lease_token=UUID(int=9),
        progress='{"done":3}',
    )
    return request_headers(call, key=KEY, now=T0)


def test_a_workers_call_passes_and_is_taken_apart(headers: dict[str, str]):
    delivery = verify(headers, BODY, secrets=[SECRET], now=NOW)
    assert delivery.run_id == encode("run", UUID(int=7))
    assert (delivery.attempt, delivery.scheduled_for, delivery.progress) == (2, T0, '{"done":3}')


def test_header_names_come_in_any_case(headers: dict[str, str]):
    assert verify({k.upper(): v for k, v in headers.items()}, BODY, secrets=[SECRET], now=NOW).attempt == 2


def test_the_new_secret_passes_while_rotating(headers: dict[str, str]):
    assert verify(headers, BODY, secrets=[format_secret(b"new"), SECRET], now=NOW)


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature", "Hourbell-Job"])
def test_a_missing_header_is_refused(headers: dict[str, str], name: str):
    del headers[name]
    with pytest.raises(SignatureError):
        verify(headers, BODY, secrets=[SECRET], now=NOW)


@pytest.mark.parametrize("signature", ["", "v1,", "v1,AAAA", "v2,AAAA", "v1,not base64!", "v1a,AAAA", "v1 v1 v1"])
def test_a_forged_signature_is_refused(headers: dict[str, str], signature: str):
    with pytest.raises(SignatureError):
        verify({**headers, "webhook-signature": signature}, BODY, secrets=[SECRET], now=NOW)


def test_another_body_is_refused(headers: dict[str, str]):
    with pytest.raises(SignatureError, match="no signature"):
        verify(headers, BODY + b" ", secrets=[SECRET], now=NOW)


def test_another_run_id_is_refused(headers: dict[str, str]):
    with pytest.raises(SignatureError, match="no signature"):
        verify({**headers, "webhook-id": "run_other"}, BODY, secrets=[SECRET], now=NOW)


@pytest.mark.parametrize("seconds", [-301, 301])
def test_a_replayed_call_is_refused(headers: dict[str, str], seconds: int):
    with pytest.raises(SignatureError, match="too old"):
        verify(headers, BODY, secrets=[SECRET], now=NOW + seconds)


def test_without_a_secret_nothing_passes(headers: dict[str, str]):
    with pytest.raises(SignatureError):
        verify(headers, BODY, secrets=[], now=NOW)


@pytest.fixture
def ledger_table(conninfo: str) -> str:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(
            "create table processed_run (run_id text primary key, processed_at timestamptz default now())"
        )
        connection.execute("create table work (run_id text)")
    return conninfo


def test_the_postgres_ledger_lets_racing_deliveries_work_once(ledger_table: str):
    def deliver(_: int) -> None:
        with psycopg.connect(ledger_table) as connection:
            if PostgresLedger(connection).first_time("run_1"):
                connection.execute("insert into work values ('run_1')")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(deliver, range(8)))
    with psycopg.connect(ledger_table) as connection:
        assert connection.execute("select count(*) from work").fetchone() == (1,)


def test_work_that_failed_is_done_by_the_retry(ledger_table: str):
    with psycopg.connect(ledger_table) as connection:
        assert PostgresLedger(connection).first_time("run_1")
        connection.rollback()
        assert PostgresLedger(connection).first_time("run_1")


def test_a_ledger_table_with_a_strange_name_is_refused():
    with pytest.raises(ValueError, match="not a table name"):
        PostgresLedger(None, table="t; drop table work")


@pytest.fixture
def dynamo(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        client = boto3.client("dynamodb", region_name="eu-central-1")
        client.create_table(
            TableName="processed",
            KeySchema=[{"AttributeName": "run_id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "run_id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        yield client


def test_the_dynamo_ledger_knows_a_run_until_it_is_forgotten(dynamo: Any):
    ledger = DynamoLedger(dynamo, table="processed")
    assert ledger.first_time("run_1")
    assert not ledger.first_time("run_1")
    ledger.forget("run_1")
    assert ledger.first_time("run_1")


def test_the_dynamo_condition_commits_with_the_work(dynamo: Any):
    ledger = DynamoLedger(dynamo, table="processed")
    work = {"Put": {"TableName": "processed", "Item": {"run_id": {"S": "work"}}}}
    dynamo.transact_write_items(TransactItems=[{"Put": ledger.condition("run_1")}, work])
    with pytest.raises(dynamo.exceptions.TransactionCanceledException):
        dynamo.transact_write_items(TransactItems=[{"Put": ledger.condition("run_1")}, work])
