"""The ``eventbridge`` target: one event per attempt, whose detail is ``call.document``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hourbell.domain.errors import FieldError
from hourbell.domain.outcome import AttemptResult
from hourbell.targets.arns import Arn, ArnError, bus_arn
from hourbell.targets.aws import AwsCaller, AwsService, failed, is_retryable, status_of, succeeded
from hourbell.targets.call import TargetCall, document
from hourbell.targets.rules import TargetRules

# PutEvents answers 200 also for an event it did not take, with an error code for it: judged as the refusal it is.
_REFUSED = 400


def check(config: Mapping[str, Any], rules: TargetRules) -> dict[str, Any]:
    """The config to be stored.

    Raises:
        FieldError: by the name of the member.
    """
    _bus(config, rules)
    if config["source"].startswith("aws."):
        # "PutEvents … source": events of AWS services themselves
        raise FieldError("source", "may not begin with aws.")
    return {name: config[name] for name in ("bus", "source", "detail_type")}


async def call(aws: AwsCaller, call: TargetCall) -> AttemptResult:
    """Put the event on the bus."""
    bus = _bus(call.config, aws.rules)
    entry = {
        "EventBusName": str(bus),
        "Source": call.config["source"],
        "DetailType": call.config["detail_type"],
        "Detail": document(call),
        "Time": call.scheduled_for,
    }
    service = AwsService(name="events", region=bus.region)
    return await aws.attempt(service, lambda client: _judge(client.put_events(Entries=[entry])), timeout=call.timeout)


def _judge(answer: Any) -> AttemptResult:
    (entry,) = answer["Entries"]
    code = entry.get("ErrorCode")
    if code is None:
        return succeeded(status_of(answer))
    return failed(f"{code}: {entry.get('ErrorMessage', '')}", retryable=is_retryable(code, _REFUSED))


def _bus(config: Mapping[str, Any], rules: TargetRules) -> Arn:
    try:
        bus = bus_arn(config["bus"], rules.home)
    except ArnError as error:
        raise FieldError("bus", str(error)) from None
    return rules.check_allowed(bus, field="bus")
