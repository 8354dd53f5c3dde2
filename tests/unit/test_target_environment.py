"""The clients and rules that an environment makes for its targets."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import pytest
from hourbell import environment
from hourbell.environment import aws_caller, target_client, target_rules
from hourbell.settings import SettingsError, WorkerSettings
from hourbell.targets.aws import AwsService

ENVIRONMENT = {
    "HOURBELL_STAGE": "prod",
    "HOURBELL_DATABASE": "user=hourbell_worker",
    "HOURBELL_DATABASE_AUTH": "none",
    "HOURBELL_LANE_SHARED_URL": "https://sqs.eu-west-1.amazonaws.com/123456789012/hourbell-prod-shared",
    "HOURBELL_LANE_SOLO_URL": "https://sqs.eu-west-1.amazonaws.com/123456789012/hourbell-prod-solo",
    "HOURBELL_HOLD_SECONDS": "1",
    "HOURBELL_LANE": "shared",
    "HOURBELL_SIGNING_SECRET": "signing",
    "HOURBELL_PRIVATE_TARGETS": "refuse",
    "HOURBELL_LEASE_SECONDS": "60",
    "HOURBELL_HEARTBEAT_SECONDS": "20",
    "HOURBELL_VISIBILITY_SECONDS": "720",
    "HOURBELL_ALLOWED_TARGETS": "arn:aws:sqs:eu-west-1:123456789012:a arn:aws:events:*:123456789012:event-bus/*",
}


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    environment._target_client.cache_clear()
    yield
    environment._target_client.cache_clear()


def test_a_client_is_of_the_targets_region_and_repeats_nothing_that_it_must_not():
    client = target_client(AwsService(name="lambda", region="ap-southeast-2", read_seconds=64, attempts=1))
    config = client.meta.config
    assert client.meta.region_name == "ap-southeast-2"
    assert (config.read_timeout, config.retries["total_max_attempts"], config.tcp_keepalive) == (64, 1, True)
    assert config.max_pool_connections >= 20
    assert target_client(AwsService(name="sqs", region="eu-west-1")).meta.config.retries["total_max_attempts"] == 2


def test_a_batch_that_comes_at_once_shares_one_client(monkeypatch: pytest.MonkeyPatch):
    made, side_by_side, real = [], [], boto3.client
    busy = threading.Lock()

    def client(*args: Any, **kwargs: Any) -> Any:
        side_by_side.append(not busy.acquire(blocking=False))
        try:
            made.append(args)
            return real(*args, **kwargs)
        finally:
            if not side_by_side[-1]:
                busy.release()

    monkeypatch.setattr(boto3, "client", client)
    wanted = [AwsService(name=name, region="eu-west-1") for name in ("sqs", "sns") for _ in range(5)]
    with ThreadPoolExecutor(10) as pool:
        clients = list(pool.map(target_client, wanted))
    assert len({id(client) for client in clients}) == len(made) == 2
    assert not any(side_by_side)


def test_the_rules_are_the_environments():
    settings = WorkerSettings.from_env(ENVIRONMENT)
    rules = target_rules(settings)
    assert (rules.stage, rules.private_allowed) == ("prod", False)
    assert (rules.home.region, rules.home.account) == ("eu-west-1", "123456789012")
    assert rules.allowed.allows(rules.home.arn("sqs", "a"))
    assert not rules.allowed.allows(rules.home.arn("sqs", "b"))
    assert aws_caller(settings) is aws_caller(settings)


def test_a_stage_may_allow_nothing_but_must_say_so():
    nothing = WorkerSettings.from_env({**ENVIRONMENT, "HOURBELL_ALLOWED_TARGETS": ""})
    assert nothing.allowed_targets == ()
    unsaid = {name: value for name, value in ENVIRONMENT.items() if name != "HOURBELL_ALLOWED_TARGETS"}
    with pytest.raises(SettingsError, match="HOURBELL_ALLOWED_TARGETS"):
        WorkerSettings.from_env(unsaid)
