"""What SQS delivers to a worker, and the answer it understands.

The answer's shape matters more than it looks: an item identifier that SQS does not know makes it redeliver the whole
batch, and a wrong top-level key makes it delete everything
(https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html). So it is built here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from hourbell.lanes.messages import LaneMessage, MessageError, decode_message


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A message as SQS delivered it; ``message_id`` is what a partial batch response names.

    ``receipt``: what this delivery is known by; empty where there is no queue.
    """

    message_id: str
    message: LaneMessage
    receipt: str = ""

    @property
    def key(self) -> tuple[UUID, datetime]:
        """The run's primary key."""
        return (self.message.job_id, self.message.scheduled_for)


def message_ids(event: Mapping[str, Any]) -> list[str]:
    """The ids of every message of the event."""
    return [str(record["messageId"]) for record in event.get("Records") or []]


def read_event(event: Mapping[str, Any]) -> tuple[list[Delivery], list[str]]:
    """The deliveries of an SQS event, and the ids of messages that are not ours to read.

    The latter are answered as failed, so that SQS moves them to the dead-letter queue, where a person finds them.
    """
    deliveries, unreadable = [], []
    for record in event.get("Records") or []:
        try:
            message = decode_message(record["body"])
            receipt = str(record.get("receiptHandle") or "")
            deliveries.append(Delivery(message_id=record["messageId"], message=message, receipt=receipt))
        except MessageError:
            unreadable.append(str(record["messageId"]))
    return deliveries, unreadable


def batch_response(failed: Iterable[str]) -> dict[str, Any]:
    """The partial batch response that has exactly these message ids delivered again."""
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in sorted(failed)]}
