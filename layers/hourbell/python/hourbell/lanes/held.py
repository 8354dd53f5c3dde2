"""Lanes that keep what is sent until the transaction that planned it is committed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hourbell.domain.run_state import Lane
from hourbell.lanes.messages import LaneMessage


class HeldLanes:
    """Accepts everything and sends nothing; ``messages`` is what must go out after the commit."""

    def __init__(self) -> None:
        self.messages: list[LaneMessage] = []

    def send(self, messages: Sequence[LaneMessage], *, now: datetime) -> list[LaneMessage]:
        """Keep all: when they are due is for the lane that gets them."""
        del now
        self.messages.extend(messages)
        return []

    def backlog(self, lane: Lane) -> int:
        """Those that are kept."""
        return sum(message.lane is lane for message in self.messages)
