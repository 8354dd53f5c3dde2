"""What one execution environment builds once and keeps: the database, the lanes, AWS clients, the signing key.

boto3 is imported by the first call that needs it, so that no cold start pays for a client it does not use.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from hourbell.domain.errors import HourbellError
from hourbell.domain.run_state import Lane
from hourbell.lanes.sqs import SqsLanes
from hourbell.settings import LaneSettings, Settings, SettingsError

if TYPE_CHECKING:
    from hourbell.store.connection import Database

SECRET_TTL_SECONDS = 300


class SecretError(HourbellError):
    """A secret could not be read, or has no usable value."""


@cache
def aws_client(service: str) -> Any:
    """The environment's client for an AWS service: standard retries, short connect timeout."""
    import boto3
    from botocore.config import Config

    config = Config(
        connect_timeout=2,
        read_timeout=10,
        retries={"mode": "standard", "total_max_attempts": 4},
        max_pool_connections=16,
    )
    client: Any = boto3.client  # the stubs know each service by name only
    return client(service, config=config)


def make_database(settings: Settings) -> Database:
    """The environment's database, with the password its settings ask for."""
    from hourbell.store.connection import Database

    return Database(settings.database, password_source(settings))


def password_source(settings: Settings) -> Callable[[], str] | None:
    """Where the password of a new connection comes from; None: the server asks for none.

    Raises:
        SettingsError: ``HOURBELL_DATABASE_AUTH`` is none of ``iam``, ``secret``, ``none``.
    """
    match settings.database_auth:
        case "none":
            return None
        case "iam":
            return lambda: _iam_token(settings.database)
        case "secret":
            return lambda: _secret_password(os.environ.get("HOURBELL_DATABASE_SECRET", ""))
        case other:
            raise SettingsError(f"HOURBELL_DATABASE_AUTH: must be 'iam', 'secret' or 'none', not {other!r}")


def _secret_password(name: str) -> str:
    """The member ``password`` of an RDS secret; only the migrator, which makes the roles, logs in this way."""
    if not name:
        raise SettingsError("missing in the environment: HOURBELL_DATABASE_SECRET")
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


_secrets: dict[str, tuple[float, str]] = {}


def read_secret(name: str) -> str:
    """The text of a Secrets Manager secret, kept for ``SECRET_TTL_SECONDS``.

    Raises:
        SecretError: it does not exist, may not be read, or is binary.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    kept = _secrets.get(name)
    if kept is not None and kept[0] > time.monotonic():
        return kept[1]
    try:
        value = aws_client("secretsmanager").get_secret_value(SecretId=name).get("SecretString")
    except (BotoCoreError, ClientError) as error:
        raise SecretError(f"secret {name!r} cannot be read: {error}") from error
    if not isinstance(value, str) or not value:
        raise SecretError(f"secret {name!r} has no text")
    _secrets[name] = (time.monotonic() + SECRET_TTL_SECONDS, value)
    return value


def stage_key(secret_name: str) -> bytes:
    """The stage's signing key: the secret's text, or its member ``key`` when it is a JSON object."""
    text = read_secret(secret_name)
    if text.startswith("{"):
        try:
            text = str(json.loads(text)["key"])
        except (ValueError, KeyError) as error:
            raise SecretError(f"secret {secret_name!r} is JSON without a member 'key'") from error
    return text.encode()
