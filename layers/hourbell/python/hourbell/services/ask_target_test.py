"""Target tests: one real call of a target, outside any job. The API asks for it and waits; a worker makes it.

    ask ──▶ waiting ──message──▶ running ──call──▶ finished ──▶ answered
               │ no worker in time   │ worker died, or the result was not recorded
               └ never called        └ never called again

1. The API's function has no way to targets. It writes the test and, after the commit, sends its id through a lane.
2. A worker takes the test in the database first (``make_target_test``): a second delivery finds it taken.
3. No run, no attempt, no limit, no retry: whatever comes of the call is the answer.
4. Meanwhile the API looks again and again, without a connection in between.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

from hourbell.domain.ids import new_job_id
from hourbell.domain.instants import floor_ms
from hourbell.domain.run_state import Lane
from hourbell.domain.target_kind import TargetKind
from hourbell.lanes.messages import LaneMessage
from hourbell.lanes.sqs import Lanes
from hourbell.services.errors import NotFoundError, QuotaError, StateError
from hourbell.services.runs import dispatch_quietly
from hourbell.store import target_tests, targets
from hourbell.store.connection import Connection, Database
from hourbell.store.target_tests import StoredTest

# What a tenant may ask for: to see whether a target answers, not to load it.
PER_MINUTE = 10
_MINUTE = timedelta(minutes=1)

# How long the API waits: a call takes up to 10 s, and a message a moment.
WAIT_SECONDS = 15.0
LOOK_EVERY_SECONDS = 0.5


def ask_target_test(
    database: Database, lanes: Lanes, tenant_id: UUID, target_id: UUID, *, payload: str, now: datetime
) -> UUID:
    """Have a worker call the target once with this payload; answers the test's id. A paused target is called too.

    Raises:
        NotFoundError: the tenant has no such target. StateError: nothing is called there.
        QuotaError: the tenant asked for too many within a minute.
    """
    test_id = new_job_id(now)

    def ask(connection: Connection) -> None:
        stored = targets.fetch_target(connection, tenant_id, target_id)
        if stored is None:
            raise NotFoundError("target")
        if stored.kind == TargetKind.PULL:
            raise StateError("nothing is called here: the runs of this target are fetched by its workers")
        _check_pace(connection, tenant_id, now)
        target_tests.insert_test(connection, tenant_id, target_id, test_id, payload=payload, now=now)

    database.run(ask)
    dispatch_quietly(database, lanes, [_message(tenant_id, test_id, now)], now=now)
    return test_id


def await_target_test(
    database: Database, tenant_id: UUID, test_id: UUID, *, pause: Callable[[float], None] = time.sleep
) -> StoredTest | None:
    """The test as soon as it is finished; as it is when the patience ends. None: there is none any more."""
    left = WAIT_SECONDS
    while True:
        found = database.run(lambda connection: target_tests.fetch_test(connection, tenant_id, test_id))
        if found is None or found.is_finished or left <= 0:
            return found
        database.close()  # whoever waits holds nothing
        pause(LOOK_EVERY_SECONDS)
        left -= LOOK_EVERY_SECONDS


def _check_pace(connection: Connection, tenant_id: UUID, now: datetime) -> None:
    count, first_at = target_tests.count_tests(connection, tenant_id, since=now - _MINUTE)
    if count >= PER_MINUTE:
        seconds = max(1, math.ceil((first_at + _MINUTE - now).total_seconds()))
        raise QuotaError("target_tests", f"at most {PER_MINUTE} a minute", retry_after_seconds=seconds)


def _message(tenant_id: UUID, test_id: UUID, now: datetime) -> LaneMessage:
    return LaneMessage(
        job_id=test_id,
        scheduled_for=floor_ms(now),
        tenant_id=tenant_id,
        lane=Lane.SHARED,
        ready_at=floor_ms(now),
        is_test=True,
    )
