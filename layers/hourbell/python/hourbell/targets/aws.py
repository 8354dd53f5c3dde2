"""Calls of AWS services: off the event loop, bounded, and every failure judged by one table.

boto3 blocks, so a call has a thread of a pool of its own: calls that hang past their attempt's timeout, which nothing
can end, hold neither the event loop nor the lanes. An attempt that finds no thread in time has not been made.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from hourbell.domain.limits import SQS_BATCH
from hourbell.domain.outcome import AttemptOutcome, AttemptResult
from hourbell.targets.call import clean_error
from hourbell.targets.rules import TargetRules

if TYPE_CHECKING:
    from botocore.exceptions import BotoCoreError, ClientError

# A batch's worth of calls, and as many that were abandoned.
THREADS = 2 * SQS_BATCH

# How long SQS, SNS, EventBridge and Step Functions may take to answer.
ANSWER_SECONDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsService:
    """A client to be had. ``attempts``: 2 lets botocore replace a connection that went stale, once."""

    name: str
    region: str
    read_seconds: int = ANSWER_SECONDS
    attempts: int = 2
    connections: int = THREADS


AwsClients = Callable[[AwsService], Any]


class AwsCaller:
    """Makes calls with the environment's clients; ``rules`` are checked again at each call."""

    def __init__(self, clients: AwsClients, rules: TargetRules, *, threads: int = THREADS) -> None:
        self.rules = rules
        self._clients = clients
        self._threads = threads
        self._pool: ThreadPoolExecutor | None = None

    async def attempt(
        self, service: AwsService, make: Callable[[Any], AttemptResult], *, timeout: timedelta
    ) -> AttemptResult:
        """Run ``make(client)`` in a thread; what AWS refuses, and silence, become results."""
        started = time.monotonic()
        try:
            async with asyncio.timeout(timeout.total_seconds()):
                result = await asyncio.get_running_loop().run_in_executor(self._executor(), self._call, service, make)
        except TimeoutError:
            result = timed_out("no answer in time")
        return replace(result, duration_ms=round((time.monotonic() - started) * 1000))

    def _executor(self) -> ThreadPoolExecutor:
        self._pool = self._pool or ThreadPoolExecutor(self._threads, thread_name_prefix="aws-target")
        return self._pool

    def _call(self, service: AwsService, make: Callable[[Any], AttemptResult]) -> AttemptResult:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return make(self._clients(service))
        except ClientError as error:
            return judge_answer(error)
        except BotoCoreError as error:
            return judge_failure(error)


# --- what an error of AWS means ---

# Errors that another attempt may cure, whatever their status says. Botocore's own list (botocore.retries.standard), and
# from the services' API references, read 2026-11:
RETRYABLE_CODES = frozenset(
    {
        # throttling
        "BandwidthLimitExceeded", "EC2ThrottledException", "KmsThrottled", "KMSThrottling", "KMSThrottlingException",
        "LimitExceededException", "OverLimit", "PriorRequestNotComplete", "RequestLimitExceeded", "RequestThrottled",
        "RequestThrottledException", "SlowDown", "Throttled", "ThrottledException", "Throttling",
        "ThrottlingException", "TooManyRequestsException",
        # Step Functions: too many open executions
        "ExecutionLimitExceeded",
        # the service's trouble
        "InternalError", "InternalException", "InternalFailure", "InternalServerError", "InternalServiceError",
        "RequestTimeout", "RequestTimeoutException", "ServiceException", "ServiceUnavailable",
        # Lambda: not ready yet
        "EFSMountTimeoutException", "ResourceConflictException", "ResourceNotReadyException",
        "SnapStartNotReadyException", "SnapStartTimeoutException",
        # credentials between two rotations
        "ExpiredToken", "ExpiredTokenException", "RequestExpired", "RequestTimeTooSkewed",
    }
)  # fmt: skip

# Errors of Lambda that come with a 502 and stay until somebody mends the function.
FINAL_CODES = frozenset(
    {
        "InvalidRuntimeException", "InvalidSecurityGroupIDException", "InvalidSubnetIDException",
        "InvalidZipFileException", "KMSAccessDeniedException", "KMSDisabledException", "KMSInvalidStateException",
        "KMSNotFoundException",
    }
)  # fmt: skip

_RETRYABLE_STATUSES = frozenset({408, 429})


def is_retryable(code: str, status: int | None) -> bool:
    """Whether another attempt may help: by code, else by status. What is refused (4xx) stays refused."""
    if code in FINAL_CODES:
        return False
    return code in RETRYABLE_CODES or status is None or status in _RETRYABLE_STATUSES or status >= 500


def judge_answer(error: ClientError) -> AttemptResult:
    """An error that a service answered."""
    response: Any = error.response
    code = str(response.get("Error", {}).get("Code", "Unknown"))
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    message = str(response.get("Error", {}).get("Message", ""))
    return failed(f"{code}: {message}", status=status, retryable=is_retryable(code, status))


def judge_failure(error: BotoCoreError) -> AttemptResult:
    """An error on the way to a service: of the connection, the credentials, or the request itself."""
    from botocore.exceptions import ConnectTimeoutError, ParamValidationError, ReadTimeoutError

    if isinstance(error, ConnectTimeoutError | ReadTimeoutError):
        return timed_out(f"{type(error).__name__}: {error}")
    return failed(f"{type(error).__name__}: {error}", retryable=not isinstance(error, ParamValidationError))


def succeeded(status: int | None) -> AttemptResult:
    """The service took it."""
    return AttemptResult(outcome=AttemptOutcome.SUCCEEDED, status_code=status)


def failed(error: str, *, retryable: bool, status: int | None = None) -> AttemptResult:
    """The service, or what it called, did not."""
    return AttemptResult(
        outcome=AttemptOutcome.FAILED, retryable=retryable, status_code=status, error=clean_error(error)
    )


def timed_out(error: str) -> AttemptResult:
    """Nobody knows whether it did."""
    return AttemptResult(outcome=AttemptOutcome.TIMED_OUT, retryable=True, error=clean_error(error))


def status_of(answer: Any) -> int | None:
    """The HTTP status of an answer that was no error."""
    status: int | None = answer["ResponseMetadata"]["HTTPStatusCode"]
    return status
