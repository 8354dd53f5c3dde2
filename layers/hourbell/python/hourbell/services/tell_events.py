"""Telling users what happened: events leave the outbox for the bus, at least once.

An event is written in the transaction that makes it true, so that a crash at any line loses none. Whoever sends takes
it for a minute, puts it on the bus and removes it. A crash between the two puts it there again: ``event_id`` is the
same.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from hourbell.domain.ids import encode
from hourbell.domain.instants import format_instant
from hourbell.lanes.bus import Bus, BusEvent
from hourbell.store import events
from hourbell.store.connection import Database
from hourbell.store.events import RunEvent

logger = logging.getLogger(__name__)

BATCH = 500
HOLD = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """``sent``: events by kind. ``oldest_seconds``: how long the oldest that is left has waited."""

    sent: Counter[str]
    oldest_seconds: float


def tell_events(database: Database, bus: Bus, *, time_left: Callable[[], bool], now: datetime | None = None) -> Told:
    """Send what the outbox holds, oldest first, until it is empty, the time is up, or the bus refuses.

    ``now`` None: the database's clock.
    """
    sent: Counter[str] = Counter()
    while time_left():
        taken = database.run(lambda connection: events.take_events(connection, limit=BATCH, hold=HOLD, now=now))
        accepted = bus.put([_on_bus(event) for event in taken])
        if accepted:
            database.run(partial(events.forget_events, event_ids=accepted))
        sent.update(event.kind for event in taken if event.event_id in accepted)
        if len(taken) < BATCH or len(accepted) < len(taken):
            break
    if sent:
        logger.info("events told", extra={"action": "tell_events", "events": sent.total()})
    return Told(sent=sent, oldest_seconds=database.run(lambda connection: events.measure_events(connection, now=now)))


def _on_bus(event: RunEvent) -> BusEvent:
    return BusEvent(
        event_id=event.event_id,
        kind=event.kind,
        detail={
            "event_id": str(event.event_id),
            "tenant_id": encode("ten", event.tenant_id),
            "job_id": encode("job", event.job_id),
            "run_id": encode("run", event.run_id),
            "target_id": encode("tgt", event.target_id),
            "scheduled_for": format_instant(event.scheduled_for),
            "attempt": event.attempt,
            "reason": event.reason,
            "error": event.error,
        },
        at=event.recorded_at,
    )
