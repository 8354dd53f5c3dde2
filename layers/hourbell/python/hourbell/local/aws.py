"""The emulator as an AWS client sees it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hourbell.local.emulator import ACCOUNT, REGION

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

FUNCTION_PREFIX = "hourbell-local-"


class InvocationError(Exception):
    """The function raised; the message is what it raised."""


def lambda_client(endpoint: str, *, timeout_seconds: float = 120) -> LambdaClient:
    """A client that invokes each function once: a repeated invocation would hide a failing one."""
    import boto3
    from botocore.config import Config

    config = Config(read_timeout=timeout_seconds, retries={"max_attempts": 0}, proxies={}, max_pool_connections=20)
    return boto3.client(
        "lambda",
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id=ACCOUNT,
        aws_secret_access_key="local",  # noqa: S106 - the emulator takes any
        config=config,
    )


def invoke(client: LambdaClient, function: str, event: Any) -> Any:
    """Invoke a function by its short name and return its reply.

    Raises:
        InvocationError: it raised.
    """
    reply = client.invoke(FunctionName=FUNCTION_PREFIX + function, Payload=json.dumps(event).encode())
    body = json.loads(reply["Payload"].read() or b"null")
    if reply.get("FunctionError"):
        detail = body.get("errorMessage", body) if isinstance(body, dict) else body
        raise InvocationError(f"{function}: {detail}")
    return body


def lane_workers(client: LambdaClient) -> dict[str, int]:
    """How many environments each worker may use at once, by the function's short name."""
    found = {}
    for mapping in client.list_event_source_mappings()["EventSourceMappings"]:
        function = mapping["FunctionArn"].split(":function:")[1].split(":")[0].removeprefix(FUNCTION_PREFIX)
        found[function] = mapping.get("ScalingConfig", {}).get("MaximumConcurrency", 1)
    return found
