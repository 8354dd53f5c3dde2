"""The bus on which users hear of dead runs and paused jobs: EventBridge."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from hourbell.domain.limits import EVENTBRIDGE_BATCH

if TYPE_CHECKING:
    from typing import Any

logger = logging.getLogger(__name__)

SOURCE = "hourbell"


@dataclass(frozen=True, slots=True, kw_only=True)
class BusEvent:
    """``kind`` becomes the detail type. ``detail``: JSON members; ``event_id`` among them tells repetitions."""

    event_id: UUID
    kind: str
    detail: dict[str, object]
    at: datetime


class Bus(Protocol):
    """Where events go."""

    def put(self, events: Sequence[BusEvent]) -> set[UUID]:
        """Put all; answer the ids of those that were accepted."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EventBridgeBus:
    """One bus over an EventBridge client."""

    name: str
    client: Callable[[], Any]

    def put(self, events: Sequence[BusEvent]) -> set[UUID]:
        """Put in batches of ten; what EventBridge (or the way to it) refuses is left out of the answer."""
        accepted: set[UUID] = set()
        for start in range(0, len(events), EVENTBRIDGE_BATCH):
            accepted |= self._put_batch(events[start : start + EVENTBRIDGE_BATCH])
        return accepted

    def _put_batch(self, batch: Sequence[BusEvent]) -> set[UUID]:
        from botocore.exceptions import BotoCoreError, ClientError

        entries = [
            {
                "EventBusName": self.name,
                "Source": SOURCE,
                "DetailType": event.kind,
                "Detail": json.dumps(event.detail, separators=(",", ":")),
                "Time": event.at,
            }
            for event in batch
        ]
        try:
            reply = self.client().put_events(Entries=entries)
        except (BotoCoreError, ClientError) as error:
            logger.warning("bus refused a batch", extra={"action": "put_events", "error": str(error)})
            return set()
        results = zip(batch, reply["Entries"], strict=True)
        return {event.event_id for event, result in results if not result.get("ErrorCode")}
