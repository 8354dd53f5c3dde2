"""What errors of AWS mean, and that no call of AWS holds up anything else."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    ReadTimeoutError,
    SSLError,
)
from botocore.retries import standard
from hourbell.domain.outcome import AttemptOutcome, AttemptResult
from hourbell.targets.aws import RETRYABLE_CODES, AwsCaller, AwsService, judge_answer, judge_failure, succeeded

from tests.unit.targets.calls import RULES

SERVICE = AwsService(name="sqs", region="eu-central-1")


def answered(code: str, status: int) -> AttemptResult:
    response: Any = {"Error": {"Code": code, "Message": "m"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return judge_answer(ClientError(response, "Operation"))


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("ThrottlingException", 400),
        ("TooManyRequestsException", 429),
        ("RequestThrottled", 403),
        ("KmsThrottled", 400),
        ("ExecutionLimitExceeded", 400),
        ("ServiceException", 500),
        ("InternalError", 500),
        ("ServiceUnavailable", 503),
        ("Whatever", 502),
        ("Whatever", 408),
        ("ResourceNotReadyException", 502),
        ("ResourceConflictException", 409),
        ("EC2ThrottledException", 502),
        ("SnapStartNotReadyException", 409),
        ("ExpiredTokenException", 403),
        ("RequestExpired", 400),
    ],
)
def test_another_attempt_may_help(code: str, status: int):
    result = answered(code, status)
    assert (result.outcome, result.retryable, result.status_code) == (AttemptOutcome.FAILED, True, status)
    assert result.error == f"{code}: m"


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("AccessDenied", 403),
        ("AccessDeniedException", 400),
        ("AuthorizationError", 403),
        ("ResourceNotFoundException", 404),
        ("QueueDoesNotExist", 400),
        ("AWS.SimpleQueueService.NonExistentQueue", 400),
        ("NotFound", 404),
        ("StateMachineDoesNotExist", 400),
        ("StateMachineDeleting", 400),
        ("InvalidExecutionInput", 400),
        ("ValidationException", 400),
        ("InvalidParameterValueException", 400),
        ("InvalidRequestContentException", 400),
        ("RequestTooLargeException", 413),
        ("InvalidMessageContents", 400),
        ("KMSAccessDeniedException", 502),
        ("InvalidZipFileException", 502),
        ("Whatever", 400),
        ("Whatever", 301),
    ],
)
def test_no_attempt_will_help(code: str, status: int):
    assert answered(code, status).retryable is False


def test_every_code_that_botocore_calls_throttling_or_transient_may_be_tried_again():
    theirs = {
        *standard.ThrottledRetryableChecker._THROTTLED_ERROR_CODES,
        *standard.TransientRetryableChecker._TRANSIENT_ERROR_CODES,
    }
    # of DynamoDB, which is no target
    assert theirs - RETRYABLE_CODES <= {"ProvisionedThroughputExceededException", "TransactionInProgressException"}


@pytest.mark.parametrize(
    ("error", "outcome", "retryable"),
    [
        (ReadTimeoutError(endpoint_url="x"), AttemptOutcome.TIMED_OUT, True),
        (ConnectTimeoutError(endpoint_url="x"), AttemptOutcome.TIMED_OUT, True),
        (EndpointConnectionError(endpoint_url="x"), AttemptOutcome.FAILED, True),
        (ConnectionClosedError(endpoint_url="x"), AttemptOutcome.FAILED, True),
        (SSLError(endpoint_url="x", error="y"), AttemptOutcome.FAILED, True),
        (NoCredentialsError(), AttemptOutcome.FAILED, True),
        (ParamValidationError(report="x"), AttemptOutcome.FAILED, False),
    ],
)
def test_errors_on_the_way(error: BotoCoreError, outcome: AttemptOutcome, retryable: bool):
    result = judge_failure(error)
    assert (result.outcome, result.retryable, result.status_code) == (outcome, retryable, None)


def test_every_failure_of_a_call_is_a_result():
    def fail(error: Exception) -> AttemptResult:
        def make(_client: Any) -> AttemptResult:
            raise error

        caller = AwsCaller(lambda _service: None, RULES)
        return asyncio.run(caller.attempt(SERVICE, make, timeout=timedelta(seconds=5)))

    response: Any = {"Error": {"Code": "Throttling"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    assert fail(ClientError(response, "Send")).retryable
    assert fail(ReadTimeoutError(endpoint_url="x")).outcome is AttemptOutcome.TIMED_OUT
    with pytest.raises(ZeroDivisionError):
        fail(ZeroDivisionError())


def test_a_call_that_hangs_is_given_up_in_time_and_the_loop_stays_free():
    gate = threading.Event()

    def hang(_client: Any) -> AttemptResult:
        gate.wait(20)
        return succeeded(200)

    async def run() -> tuple[AttemptResult, int]:
        caller = AwsCaller(lambda _service: None, RULES)
        attempt = asyncio.create_task(caller.attempt(SERVICE, hang, timeout=timedelta(milliseconds=100)))
        beats = 0
        while not attempt.done():
            beats += 1
            await asyncio.sleep(0.005)
        return attempt.result(), beats

    try:
        result, beats = asyncio.run(run())
    finally:
        gate.set()
    assert (result.outcome, result.retryable) == (AttemptOutcome.TIMED_OUT, True)
    assert 50 <= result.duration_ms < 5_000
    assert beats > 3


def test_a_call_that_never_got_a_thread_is_never_made():
    """Given up while it waited: it must not go out later, behind the back of the attempt that follows."""
    gate, made = threading.Event(), []

    def hang(_client: Any) -> AttemptResult:
        gate.wait(20)
        return succeeded(200)

    def send(_client: Any) -> AttemptResult:
        made.append(1)
        return succeeded(200)

    async def run() -> list[AttemptResult]:
        caller = AwsCaller(lambda _service: None, RULES, threads=1)
        hanging = asyncio.create_task(caller.attempt(SERVICE, hang, timeout=timedelta(seconds=20)))
        await asyncio.sleep(0)
        late = await caller.attempt(SERVICE, send, timeout=timedelta(milliseconds=50))
        gate.set()
        return [
            late,
            await hanging,
            await caller.attempt(SERVICE, lambda _: succeeded(200), timeout=timedelta(seconds=5)),
        ]

    late, hung, after = asyncio.run(run())
    assert late.outcome is AttemptOutcome.TIMED_OUT
    assert hung.outcome is after.outcome is AttemptOutcome.SUCCEEDED
    assert made == []


def test_calls_run_side_by_side():
    barrier = threading.Barrier(10)

    def meet(_client: Any) -> AttemptResult:
        barrier.wait(10)
        return succeeded(200)

    async def run() -> list[AttemptResult]:
        caller = AwsCaller(lambda _service: None, RULES)
        return await asyncio.gather(*(caller.attempt(SERVICE, meet, timeout=timedelta(seconds=10)) for _ in range(10)))

    assert {result.outcome for result in asyncio.run(run())} == {AttemptOutcome.SUCCEEDED}
