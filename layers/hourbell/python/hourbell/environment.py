"""What one execution environment builds once and keeps: the database, the lanes, AWS clients, the signing key.

boto3 is imported by the first call that needs it, so that no cold start pays for a client it does not use.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from hourbell.domain.errors import HourbellError
from hourbell.domain.run_state import Lane
from hourbell.lanes.sqs import SqsLanes
from hourbell.settings import LaneSettings, Settings, SettingsError, TargetSettings

if TYPE_CHECKING:
    from hourbell.cold.objects import ColdObjects
    from hourbell.cold.patience import Patience
    from hourbell.lanes.bus import EventBridgeBus
    from hourbell.store.connection import Database
    from hourbell.targets.aws import AwsCaller, AwsService
    from hourbell.targets.rules import TargetRules

SECRET_TTL_SECONDS = 300


class SecretError(HourbellError):
    """A secret could not be read, or has no usable value."""


# Clients may be shared by threads, but are not made by two at once (boto3 guide, "Multithreading or multiprocessing").
_making_client = threading.RLock()


@cache
def aws_client(service: str, *, attempts: int = 4, read_timeout: float = 10) -> Any:
    """The environment's client for an AWS service: standard retries, short connect timeout."""
    with _making_client:
        return _make_client(service, None, attempts=attempts, read_timeout=read_timeout, max_pool_connections=16)


def target_client(service: AwsService) -> Any:
    """The environment's client for the AWS targets of one region; ``AwsCaller`` calls it from its threads."""
    with _making_client:
        return _target_client(service)


@lru_cache(maxsize=32)
def _target_client(service: AwsService) -> Any:
    return _make_client(
        service.name,
        service.region,
        attempts=service.attempts,
        read_timeout=service.read_seconds,
        max_pool_connections=service.connections,
        # NAT gateways forget a connection that is silent for 350 s, and a function may think for longer.
        tcp_keepalive=True,
    )


def _make_client(name: str, region: str | None, *, attempts: int, **config: Any) -> Any:
    import boto3
    from botocore.config import Config

    retries: Any = {"mode": "standard", "total_max_attempts": attempts}
    client: Any = boto3.client  # the stubs know each service by name only
    return client(name, region_name=region, config=Config(connect_timeout=2, retries=retries, **config))


def make_database(settings: Settings) -> Database:
    """The environment's database, with the password its settings ask for."""
    from hourbell.store.connection import Database

    return Database(settings.database, password_source(settings))


def password_source(settings: Settings) -> Callable[[], str] | None:
    """Where the password of a new connection comes from; None: the server asks for none.

    Raises:
        SettingsError: ``HOURBELL_DATABASE_AUTH`` is neither ``iam`` nor ``none``.
    """
    match settings.database_auth:
        case "none":
            return None
        case "iam":
            return lambda: _iam_token(settings.database)
        case other:
            raise SettingsError(f"HOURBELL_DATABASE_AUTH: must be 'iam' or 'none', not {other!r}")


def secret_password(name: str) -> str:
    """The member ``password`` of an RDS secret; only the migrator, which makes the roles, logs in this way.

    Raises:
        SecretError: as ``read_secret``.
    """
    return str(json.loads(read_secret(name))["password"])


def _iam_token(conninfo: str) -> str:
    """A login token of RDS, valid for 15 minutes; signed here, without a call."""
    from psycopg.conninfo import conninfo_to_dict

    parts = conninfo_to_dict(conninfo)
    token = aws_client("rds").generate_db_auth_token(
        DBHostname=parts["host"], Port=int(parts.get("port") or 5432), DBUsername=parts["user"]
    )
    return str(token)


def make_lanes(settings: LaneSettings) -> SqsLanes:
    """Both lanes over the environment's SQS client."""
    return SqsLanes(
        urls={Lane.SHARED: settings.lane_shared_url, Lane.SOLO: settings.lane_solo_url},
        hold_seconds=settings.hold_seconds,
        client=lambda: aws_client("sqs"),
    )


def make_cold_objects(bucket: str, patience: Patience) -> ColdObjects:
    """The cold tier's bucket over the environment's S3 client."""
    from hourbell.cold.objects import ColdObjects

    def client() -> Any:
        return aws_client("s3", attempts=patience.attempts, read_timeout=patience.silence_seconds)

    return ColdObjects(bucket=bucket, client=client, seconds=patience.seconds)


def make_bus(name: str) -> EventBridgeBus:
    """The bus over the environment's EventBridge client."""
    from hourbell.lanes.bus import EventBridgeBus

    return EventBridgeBus(name=name, client=lambda: aws_client("events"))


_secrets: dict[str, tuple[float, str]] = {}


def _kept(name: str) -> str | None:
    kept = _secrets.get(name)
    return kept[1] if kept is not None and kept[0] > time.monotonic() else None


def read_secret(name: str) -> str:
    """The text of a Secrets Manager secret, kept for ``SECRET_TTL_SECONDS``.

    Raises:
        SecretError: it does not exist, may not be read, or is binary.
    """
    kept = _kept(name)
    if kept is not None:
        return kept

    from botocore.exceptions import BotoCoreError, ClientError

    try:
        value = aws_client("secretsmanager").get_secret_value(SecretId=name).get("SecretString")
    except (BotoCoreError, ClientError) as error:
        raise SecretError(f"secret {name!r} cannot be read: {error}") from error
    if not isinstance(value, str) or not value:
        raise SecretError(f"secret {name!r} has no text")
    _secrets[name] = (time.monotonic() + SECRET_TTL_SECONDS, value)
    return value


def stage_key(secret_name: str) -> bytes:
    """The stage's signing key: the secret's text as it is; being random, it may look like the beginning of JSON."""
    return read_secret(secret_name).encode()


@cache
def target_rules(settings: TargetSettings) -> TargetRules:
    """What the stage lets targets be."""
    from hourbell.targets.arns import AllowedTargets, Home
    from hourbell.targets.rules import TargetRules

    # Lanes and targets without a region are where the functions are; the URLs name the account.
    *_, account, _ = settings.lane_shared_url.split("/")
    return TargetRules(
        stage=settings.stage,
        home=Home(region=os.environ["AWS_REGION"], account=account),
        allowed=AllowedTargets(settings.allowed_targets),
        private_allowed=settings.private_targets,
    )


@cache
def aws_caller(settings: TargetSettings) -> AwsCaller:
    """What this environment calls targets in AWS with."""
    from hourbell.targets.aws import AwsCaller

    return AwsCaller(target_client, target_rules(settings))


async def target_key(stage_secret: str, target_id: UUID, secret: str | None) -> bytes:
    """The key that signs the calls of a target: its own secret, or one derived from the stage's.

    Raises:
        SecretError: as ``read_secret``.
    """
    import asyncio

    from hourbell.targets.signature import parse_secret, signing_key

    name = stage_secret if secret is None else secret
    if _kept(name) is None:
        # Secrets Manager may take its time, and the leases of other runs must be kept meanwhile.
        await asyncio.to_thread(read_secret, name)
    return signing_key(stage_key(name), target_id) if secret is None else parse_secret(read_secret(name))
