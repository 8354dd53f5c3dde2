"""Lanes without queues: what was sent waits here until its time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from hourbell.domain.run_state import Lane
from hourbell.lanes.messages import LaneMessage


@dataclass(slots=True)
class MemoryLanes:
    """Both lanes of one engine."""

    waiting: list[LaneMessage] = field(default_factory=list)

    def send(self, messages: Sequence[LaneMessage], *, now: datetime) -> list[LaneMessage]:  # noqa: ARG002 - the lanes' protocol
        """Keep all."""
        self.waiting.extend(messages)
        return []

    def backlog(self, lane: Lane) -> int:
        """How many wait."""
        return sum(message.lane is lane for message in self.waiting)

    def take_ready(self, now: datetime) -> list[LaneMessage]:
        """Take out what may start, oldest first."""
        ready = sorted(message for message in self.waiting if message.ready_at <= now)
        self.waiting = [message for message in self.waiting if message.ready_at > now]
        return sorted(ready, key=lambda message: message.ready_at)

    def next_ready_at(self, *, after: datetime) -> datetime | None:
        """When the next one may start."""
        return min((message.ready_at for message in self.waiting if message.ready_at > after), default=None)
