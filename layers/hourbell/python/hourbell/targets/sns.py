"""The ``sns`` target: one message per attempt, to a standard or a FIFO topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hourbell.domain.errors import FieldError
from hourbell.domain.outcome import AttemptResult
from hourbell.targets.arns import Arn, ArnError, parse_arn
from hourbell.targets.aws import AwsCaller, AwsService, status_of, succeeded
from hourbell.targets.call import TargetCall, message_attributes, message_body
from hourbell.targets.rules import TargetRules
from hourbell.targets.sqs import FIFO_SUFFIX, ordering


def check(config: Mapping[str, Any], rules: TargetRules) -> dict[str, Any]:
    """The config to be stored.

    Raises:
        FieldError: by the name of the member.
    """
    return {"topic_arn": str(_topic(config, rules)), "message_group_id": config.get("message_group_id")}


async def call(aws: AwsCaller, call: TargetCall) -> AttemptResult:
    """Publish the message."""
    topic = _topic(call.config, aws.rules)
    request = {
        "TopicArn": str(topic),
        "Message": message_body(call),
        "MessageAttributes": message_attributes(call),
        **ordering(call, fifo=topic.name.endswith(FIFO_SUFFIX)),
    }
    service = AwsService(name="sns", region=topic.region)
    return await aws.attempt(
        service, lambda client: succeeded(status_of(client.publish(**request))), timeout=call.timeout
    )


def _topic(config: Mapping[str, Any], rules: TargetRules) -> Arn:
    try:
        topic = parse_arn(config["topic_arn"], "sns")
    except ArnError as error:
        raise FieldError("topic_arn", str(error)) from None
    return rules.check_allowed(topic, field="topic_arn")
