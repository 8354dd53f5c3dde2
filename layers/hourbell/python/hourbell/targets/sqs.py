"""The ``sqs`` target: one message per attempt, to a standard or a FIFO queue.

A FIFO queue drops what it has seen in the last five minutes, by deduplication id. That is the run's id, so an attempt
that was sent and not answered is not sent twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hourbell.domain.errors import FieldError
from hourbell.domain.ids import encode
from hourbell.domain.outcome import AttemptResult
from hourbell.targets.arns import Arn, ArnError, queue_arn
from hourbell.targets.aws import AwsCaller, AwsService, status_of, succeeded
from hourbell.targets.call import TargetCall, message_attributes, message_body
from hourbell.targets.rules import TargetRules

FIFO_SUFFIX = ".fifo"


def check(config: Mapping[str, Any], rules: TargetRules) -> dict[str, Any]:
    """The config to be stored.

    Raises:
        FieldError: by the name of the member.
    """
    _queue(config, rules)
    return {"queue_url": config["queue_url"], "message_group_id": config.get("message_group_id")}


async def call(aws: AwsCaller, call: TargetCall) -> AttemptResult:
    """Send the message."""
    queue = _queue(call.config, aws.rules)
    request = {
        "QueueUrl": call.config["queue_url"],
        "MessageBody": message_body(call),
        "MessageAttributes": message_attributes(call),
        **ordering(call, fifo=queue.name.endswith(FIFO_SUFFIX)),
    }
    service = AwsService(name="sqs", region=queue.region)
    return await aws.attempt(
        service, lambda client: succeeded(status_of(client.send_message(**request))), timeout=call.timeout
    )


def ordering(call: TargetCall, *, fifo: bool) -> dict[str, str]:
    """The group and the deduplication id of a message; on what is not FIFO, a group only when the target has one."""
    group: str | None = call.config.get("message_group_id")
    if not fifo:
        return {} if group is None else {"MessageGroupId": group}
    return {
        "MessageGroupId": group or encode("job", call.job_id),
        "MessageDeduplicationId": encode("run", call.run_id),
    }


def _queue(config: Mapping[str, Any], rules: TargetRules) -> Arn:
    try:
        queue = queue_arn(config["queue_url"], rules.home, local_allowed=rules.private_allowed)
    except ArnError as error:
        raise FieldError("queue_url", str(error)) from None
    return rules.check_allowed(queue, field="queue_url")
