"""The lanes as an operator sees them: how much waits where, and dead letters back into their lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hourbell.domain.errors import HourbellError
from hourbell.domain.limits import SQS_BATCH
from hourbell.domain.run_state import Lane
from hourbell.lanes.messages import MessageError, decode_message

_COUNTS = {
    "waiting": "ApproximateNumberOfMessages",
    "delayed": "ApproximateNumberOfMessagesDelayed",
    "in_flight": "ApproximateNumberOfMessagesNotVisible",
}


class QueueError(HourbellError):
    """SQS did not answer as it should; the message says what it said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneDepth:
    """A lane's messages; SQS calls the numbers approximate. ``dead``: those of its dead-letter queue."""

    lane: Lane
    waiting: int
    in_flight: int
    delayed: int
    dead: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RedrivenLetters:
    """``moved``: back in the lane. ``foreign``: none of ours, left where they are."""

    moved: int
    foreign: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneQueues:
    """Both lanes of a stage over an SQS client."""

    client: Any
    stage: str

    def depth(self, lane: Lane) -> LaneDepth:
        """How much waits, by SQS's own approximate count.

        Raises:
            QueueError.
        """
        counts = self._counts(lane)
        return LaneDepth(lane=lane, **counts, dead=sum(self._counts(lane, dead=True).values()))

    def redrive(self, lane: Lane) -> RedrivenLetters:
        """Move dead letters back into their lane: sent, then deleted: a crash may double one and loses none.

        Raises:
            QueueError.
        """
        moved = foreign = 0
        source, destination = self._url(lane, dead=True), self._url(lane)
        while letters := self._receive(source):
            ours = [letter for letter in letters if _is_ours(letter["Body"])]
            foreign += len(letters) - len(ours)
            moved += self._move(ours, source, destination)
        return RedrivenLetters(moved=moved, foreign=foreign)

    def _move(self, letters: Sequence[dict[str, Any]], source: str, destination: str) -> int:
        if not letters:
            return 0
        entries = [
            {
                "Id": str(index),
                "MessageBody": letter["Body"],
                "MessageGroupId": decode_message(letter["Body"]).tenant_id.hex,
            }
            for index, letter in enumerate(letters)
        ]
        sent = self._call("send_message_batch", QueueUrl=destination, Entries=entries).get("Successful", [])
        handles = [{"Id": entry["Id"], "ReceiptHandle": letters[int(entry["Id"])]["ReceiptHandle"]} for entry in sent]
        if handles:
            self._call("delete_message_batch", QueueUrl=source, Entries=handles)
        return len(sent)

    def _receive(self, url: str) -> list[dict[str, Any]]:
        reply = self._call("receive_message", QueueUrl=url, MaxNumberOfMessages=SQS_BATCH, WaitTimeSeconds=1)
        found: list[dict[str, Any]] = reply.get("Messages", [])
        return found

    def _counts(self, lane: Lane, *, dead: bool = False) -> dict[str, int]:
        url = self._url(lane, dead=dead)
        reply = self._call("get_queue_attributes", QueueUrl=url, AttributeNames=list(_COUNTS.values()))
        return {name: int(reply["Attributes"].get(attribute, 0)) for name, attribute in _COUNTS.items()}

    def _url(self, lane: Lane, *, dead: bool = False) -> str:
        name = f"hourbell-{self.stage}-{lane}" + ("-dead" if dead else "")
        return str(self._call("get_queue_url", QueueName=name)["QueueUrl"])

    def _call(self, action: str, **request: Any) -> dict[str, Any]:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            reply: dict[str, Any] = getattr(self.client, action)(**request)
        except (BotoCoreError, ClientError) as error:
            raise QueueError(str(error)) from error
        return reply


def _is_ours(body: str) -> bool:
    try:
        decode_message(body)
    except MessageError:
        return False
    return True
