"""The ``lambda`` target: one invocation per attempt.

``sync`` waits for the function, and its error is the attempt's. ``async`` leaves the event in Lambda's own queue: that
it was accepted is all that the run tells.

The event is ``call.document``. A client context would leave the payload alone, but Lambda passes it on in synchronous
invocations only ("Invoke", read 2026-11), and a function should not have to care how it is invoked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from hourbell.domain.errors import FieldError
from hourbell.domain.outcome import AttemptResult
from hourbell.targets.arns import Arn, ArnError, parse_arn
from hourbell.targets.aws import AwsCaller, AwsService, failed, status_of, succeeded
from hourbell.targets.call import TargetCall, document
from hourbell.targets.rules import TargetRules

# What is read of a function's answer at most; a longer one costs its connection.
ANSWER_MAX_BYTES = 65_536

_TYPES = {"sync": "RequestResponse", "async": "Event"}


def check(config: Mapping[str, Any], rules: TargetRules) -> dict[str, Any]:
    """The config to be stored.

    Raises:
        FieldError: by the name of the member.
    """
    return {"arn": str(_function(config, rules)), "invocation": config["invocation"]}


async def call(aws: AwsCaller, call: TargetCall) -> AttemptResult:
    """Invoke the function."""
    function = _function(call.config, aws.rules)
    request = {
        "FunctionName": str(function),
        "InvocationType": _TYPES[call.config["invocation"]],
        "Payload": document(call).encode(),
    }
    # One attempt: botocore would invoke the function again while the first invocation still runs.
    service = AwsService(name="lambda", region=function.region, read_seconds=_read_seconds(call.timeout), attempts=1)
    return await aws.attempt(service, lambda client: _judge(client.invoke(**request)), timeout=call.timeout)


def _read_seconds(timeout: timedelta) -> int:
    """The next power of two: few clients serve all timeouts, and a thread is bound for twice the attempt's at most."""
    return 1 << max(0, int(timeout.total_seconds())).bit_length()


def _judge(answer: Any) -> AttemptResult:
    stream = answer["Payload"]
    kept = stream.read(ANSWER_MAX_BYTES)
    if len(kept) == ANSWER_MAX_BYTES:
        stream.close()
    status = answer["StatusCode"]
    if "FunctionError" not in answer:
        return succeeded(status)
    # "StatusCode: 200 [and] FunctionError: if present, indicates that an error occurred during function execution"
    return failed(f"{answer['FunctionError']}: {_reason(kept)}", retryable=True, status=status_of(answer))


def _reason(answer: bytes) -> str:
    """The error type and message that Lambda reports, else whatever the answer says."""
    text = answer.decode("utf-8", "replace")
    try:
        reported = json.loads(text)
        return f"{reported['errorType']}: {reported['errorMessage']}"
    except (ValueError, TypeError, KeyError, RecursionError):
        return text


def _function(config: Mapping[str, Any], rules: TargetRules) -> Arn:
    try:
        function = parse_arn(config["arn"], "lambda")
    except ArnError as error:
        raise FieldError("arn", str(error)) from None
    return rules.check_allowed(function, field="arn")
