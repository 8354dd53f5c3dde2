"""What a call sends, for people to look at: no secret, and no value of a header that the target brings itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hourbell.domain.target_kind import TargetKind
from hourbell.targets.call import document, message_attributes, message_body
from hourbell.targets.http import headers_about

if TYPE_CHECKING:
    from hourbell.targets.call import TargetCall

HIDDEN = "***"
# What is shown of a body; the target gets all of it.
BODY_MAX_CHARACTERS = 4_096

# The member of a config that says where the call goes.
_ADDRESS = {
    TargetKind.HTTP: "url",
    TargetKind.LAMBDA: "arn",
    TargetKind.SQS: "queue_url",
    TargetKind.SNS: "topic_arn",
    TargetKind.EVENTBRIDGE: "bus",
    TargetKind.STEP_FUNCTIONS: "state_machine_arn",
}
_MESSAGES = frozenset({TargetKind.SQS, TargetKind.SNS})


def describe_call(kind: TargetKind, call: TargetCall) -> dict[str, Any]:
    """``method`` (null in AWS), ``to``, ``headers`` (message attributes of queues and topics) and ``body``."""
    if kind is TargetKind.HTTP:
        own = dict.fromkeys(call.config.get("headers") or {}, HIDDEN)
        signed = dict.fromkeys(("webhook-timestamp", "webhook-signature"), HIDDEN)
        method, headers, body = (
            call.config.get("method", "POST"),
            {**own, **headers_about(call), **signed},
            call.payload,
        )
    elif kind in _MESSAGES:
        attributes = {name: value["StringValue"] for name, value in message_attributes(call).items()}
        method, headers, body = None, attributes, message_body(call)
    else:
        method, headers, body = None, {}, document(call)
    address = _ADDRESS.get(kind)
    return {
        "method": method,
        "to": "" if address is None else call.config[address],
        "headers": headers,
        "body": body[:BODY_MAX_CHARACTERS],
    }
