"""Sending planned runs to their lanes, after the commit that made them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hourbell.domain.fairness import interleave
from hourbell.lanes.messages import LaneMessage
from hourbell.lanes.sqs import Lanes
from hourbell.store import claims
from hourbell.store.connection import Database


def dispatch_runs(database: Database, lanes: Lanes, messages: Sequence[LaneMessage], *, now: datetime) -> int:
    """Send the messages, tenants taking turns; answer how many the lanes refused.

    What was refused is marked, so that the reaper sends it again at its next look. A crash before the mark costs only
    time: each run's ``wake_at`` was written with the run.
    """
    if not messages:
        return 0
    unsent = lanes.send(interleave(messages, lambda message: message.tenant_id), now=now)
    if unsent:
        runs = [(message.job_id, message.scheduled_for) for message in unsent]
        database.run(lambda connection: claims.wake_unsent(connection, runs, now=now))
    return len(unsent)
