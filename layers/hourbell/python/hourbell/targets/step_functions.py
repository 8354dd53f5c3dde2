"""The ``step_functions`` target: one execution per run, named after it.

Step Functions keeps the names of standard executions for 90 days and refuses a second one, so that a start that was
made and not answered is not made twice: the refusal tells that the run has its execution.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hourbell.domain.errors import FieldError
from hourbell.domain.ids import encode
from hourbell.domain.outcome import AttemptResult
from hourbell.targets.arns import Arn, ArnError, parse_arn
from hourbell.targets.aws import AwsCaller, AwsService, status_of, succeeded
from hourbell.targets.call import TargetCall, document
from hourbell.targets.rules import TargetRules


def check(config: Mapping[str, Any], rules: TargetRules) -> dict[str, Any]:
    """The config to be stored.

    Raises:
        FieldError: by the name of the member.
    """
    return {"state_machine_arn": str(_state_machine(config, rules))}


async def call(aws: AwsCaller, call: TargetCall) -> AttemptResult:
    """Start the execution."""
    state_machine = _state_machine(call.config, aws.rules)
    request = {
        "stateMachineArn": str(state_machine),
        "name": encode("run", call.run_id),
        "input": document(call),
    }
    service = AwsService(name="stepfunctions", region=state_machine.region)
    return await aws.attempt(service, lambda client: _start(client, request), timeout=call.timeout)


def _start(client: Any, request: Mapping[str, Any]) -> AttemptResult:
    try:
        return succeeded(status_of(client.start_execution(**request)))
    except client.exceptions.ExecutionAlreadyExists:
        return succeeded(None)


def _state_machine(config: Mapping[str, Any], rules: TargetRules) -> Arn:
    try:
        state_machine = parse_arn(config["state_machine_arn"], "states")
    except ArnError as error:
        raise FieldError("state_machine_arn", str(error)) from None
    return rules.check_allowed(state_machine, field="state_machine_arn")
