"""What travels through a lane: the address of a run and the moment it may start. Never the job itself,
which is read as it is at that moment."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from hourbell.domain.errors import HourbellError
from hourbell.domain.run_state import Lane

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_VERSION = 1


class MessageError(HourbellError):
    """A lane held something that no release of Hourbell sent."""


class LaneMessage(NamedTuple):
    """One run on its way to a worker. ``ready_at``: fire_at, or the time of the retry.

    ``is_test``: it is no run but a test of a target, by its id. A worker of a release without tests looks for such a
    run, finds none, and acknowledges: the test is not made, and nothing is redelivered.
    """

    job_id: UUID
    scheduled_for: datetime
    tenant_id: UUID
    lane: Lane
    ready_at: datetime
    is_test: bool = False


def _to_ms(instant: datetime) -> int:
    return (instant - _EPOCH) // timedelta(milliseconds=1)


def encode_message(message: LaneMessage) -> str:
    """The SQS body: compact JSON, instants in ms since 1970."""
    return json.dumps(
        {
            "v": _VERSION,
            "job": message.job_id.hex,
            "for": _to_ms(message.scheduled_for),
            "tenant": message.tenant_id.hex,
            "lane": message.lane,
            "ready": _to_ms(message.ready_at),
            **({"test": True} if message.is_test else {}),
        },
        separators=(",", ":"),
    )


def decode_message(body: str) -> LaneMessage:
    """Read an SQS body.

    Raises:
        MessageError: it is not one of ours.
    """
    try:
        fields = json.loads(body)
        if fields["v"] != _VERSION:
            raise MessageError(f"message version {fields['v']!r} is unknown here")
        return LaneMessage(
            job_id=UUID(hex=fields["job"]),
            scheduled_for=_EPOCH + timedelta(milliseconds=fields["for"]),
            tenant_id=UUID(hex=fields["tenant"]),
            lane=Lane(fields["lane"]),
            ready_at=_EPOCH + timedelta(milliseconds=fields["ready"]),
            is_test=fields.get("test") is True,
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise MessageError(f"not a lane message: {body[:200]!r}") from error
