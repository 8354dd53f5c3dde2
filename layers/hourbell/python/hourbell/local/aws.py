"""The emulator as an AWS client sees it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hourbell.local.emulator import ACCOUNT, REGION
from hourbell.local.errors import LocalCloudError

if TYPE_CHECKING:
    from boto3 import Session
    from botocore.config import Config
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

FUNCTION_PREFIX = "hourbell-local-"


class InvocationError(LocalCloudError):
    """The function raised, or there is none of this name; the message says what."""


def lambda_client(endpoint: str, *, timeout_seconds: float = 120) -> LambdaClient:
    """A client that invokes each function once: a repeated invocation would hide a failing one."""
    return session().client("lambda", endpoint_url=endpoint, config=_config(timeout_seconds))


def cloudformation_client(endpoint: str) -> CloudFormationClient:
    """A client of the stacks."""
    return session().client("cloudformation", endpoint_url=endpoint, config=_config(60))


def s3_client(endpoint: str) -> S3Client:
    """A client of the cold tier's bucket."""
    return session().client("s3", endpoint_url=endpoint, config=_config(60))


def sqs_client(endpoint: str) -> SQSClient:
    """A client of the lanes."""
    return session().client("sqs", endpoint_url=endpoint, config=_config(30))


def session() -> Session:
    """Any credentials will do."""
    import boto3

    return boto3.Session(aws_access_key_id=ACCOUNT, aws_secret_access_key="local", region_name=REGION)  # noqa: S106


def _config(timeout_seconds: float) -> Config:
    from botocore.config import Config

    return Config(read_timeout=timeout_seconds, retries={"max_attempts": 0}, proxies={}, max_pool_connections=20)


def invoke(client: LambdaClient, function: str, event: Any) -> Any:
    """Invoke a function by its short name and return its reply.

    Raises:
        InvocationError: it raised, or there is no such function.
    """
    try:
        reply = client.invoke(FunctionName=FUNCTION_PREFIX + function, Payload=json.dumps(event).encode())
    except client.exceptions.ResourceNotFoundException as error:
        raise InvocationError(
            f"There is no function {function!r} in the local cloud: hourbell invoke --help names them."
        ) from error
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
