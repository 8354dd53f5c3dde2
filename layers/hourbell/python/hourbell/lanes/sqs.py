"""The lanes as SQS queues: delay on the way in, backlog on request."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from hourbell.domain.limits import SQS_BATCH, SQS_MAX_DELAY_SECONDS
from hourbell.domain.run_state import QUEUES, Lane
from hourbell.lanes.messages import LaneMessage, encode_message

if TYPE_CHECKING:
    from typing import Any

logger = logging.getLogger(__name__)

SENDERS = 8


class Lanes(Protocol):
    """Where messages go; SQS in production and on the laptop, a list in tests."""

    def send(self, messages: Sequence[LaneMessage], *, now: datetime) -> list[LaneMessage]:
        """Send all that go through a queue; answer those that were not accepted."""
        ...

    def backlog(self, lane: Lane) -> int:
        """How many messages wait in the lane, about; not those that a worker has."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SqsLanes:
    """Both lanes over one SQS client.

    ``hold_seconds``: how long a worker may hold a message in memory. A message becomes visible that much before its
    time, because DelaySeconds counts whole seconds and a poll takes a moment.
    """

    urls: Mapping[Lane, str]
    hold_seconds: float
    client: Callable[[], Any]

    def send(self, messages: Sequence[LaneMessage], *, now: datetime) -> list[LaneMessage]:
        """Send in batches of ten, in parallel; answer the entries that SQS (or the way to it) refused.

        Runs that are pulled have no queue, and are not sent: who pulls them finds them in the database.
        """
        batches = [
            (lane, of_lane[start : start + SQS_BATCH])
            for lane in QUEUES
            if (of_lane := [message for message in messages if message.lane is lane])
            for start in range(0, len(of_lane), SQS_BATCH)
        ]
        if not batches:
            return []
        if len(batches) == 1:
            lane, batch = batches[0]
            return self._send_batch(lane, batch, now)
        self.client()  # built once, before the threads want it
        with ThreadPoolExecutor(min(SENDERS, len(batches))) as pool:
            unsent = pool.map(lambda part: self._send_batch(part[0], part[1], now), batches)
            return [message for part in unsent for message in part]

    def backlog(self, lane: Lane) -> int:
        """Visible messages; SQS calls the number approximate.

        What is in flight accounts for no overdue run: a worker leases what is overdue at once, and a dead worker's
        messages stay in flight long after it.
        """
        name = "ApproximateNumberOfMessages"
        reply = self.client().get_queue_attributes(QueueUrl=self.urls[lane], AttributeNames=[name])
        return int(reply["Attributes"][name])

    def keep(self, lane: Lane, receipts: Sequence[str], seconds: int) -> None:
        """Keep delivered messages from other workers for so long from now.

        What SQS refuses may be delivered again, and finds its run leased.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        for start in range(0, len(receipts), SQS_BATCH):
            entries = [
                {"Id": str(index), "ReceiptHandle": receipt, "VisibilityTimeout": seconds}
                for index, receipt in enumerate(receipts[start : start + SQS_BATCH])
            ]
            try:
                self.client().change_message_visibility_batch(QueueUrl=self.urls[lane], Entries=entries)
            except (BotoCoreError, ClientError) as error:
                logger.warning("visibility not extended", extra={"action": "keep", "lane": lane, "error": str(error)})

    def _send_batch(self, lane: Lane, batch: Sequence[LaneMessage], now: datetime) -> list[LaneMessage]:
        from botocore.exceptions import BotoCoreError, ClientError

        entries = [
            {
                "Id": str(index),
                "MessageBody": encode_message(message),
                "DelaySeconds": self._delay_seconds(message, now),
                # SQS fair queues: one tenant's backlog does not hold up another's messages.
                "MessageGroupId": message.tenant_id.hex,
            }
            for index, message in enumerate(batch)
        ]
        try:
            reply = self.client().send_message_batch(QueueUrl=self.urls[lane], Entries=entries)
        except (BotoCoreError, ClientError) as error:
            logger.warning("lane refused a batch", extra={"action": "send", "lane": lane, "error": str(error)})
            return list(batch)
        accepted = {entry["Id"] for entry in reply.get("Successful", [])}
        return [message for index, message in enumerate(batch) if str(index) not in accepted]

    def _delay_seconds(self, message: LaneMessage, now: datetime) -> int:
        ahead = (message.ready_at - now).total_seconds()
        return max(0, min(SQS_MAX_DELAY_SECONDS, math.floor(ahead - self.hold_seconds)))
