"""A test of a target as a worker makes it: once, however often its message comes (see ``ask_target_test``)."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import UUID, uuid4

from hourbell.domain.outcome import AttemptResult
from hourbell.domain.target_kind import TargetKind
from hourbell.store import target_tests
from hourbell.store.connection import Database
from hourbell.store.target_tests import FinishedTest, StartedTest
from hourbell.targets.call import TargetCall

logger = logging.getLogger(__name__)

CALL_TIMEOUT = timedelta(seconds=10)

# A test that is older is not made: nobody waits for it any more.
PATIENCE = timedelta(seconds=60)

# Calls a target of this kind and never raises but for cancellation.
CallTarget = Callable[[str, TargetCall], Awaitable[AttemptResult]]


async def make_target_test(database: Database, turn: asyncio.Lock, call_target: CallTarget, test_id: UUID) -> bool:
    """Take the test, call its target and record what came of it; a test that is another's is left alone.

    Answers whether its message is done with; False: the database did not answer, and nothing was called.
    """
    try:
        async with turn:
            started = await database.run_async(
                lambda connection: target_tests.start_test(connection, test_id, patience=PATIENCE)
            )
    except Exception as error:  # noqa: BLE001 - whatever it was, the message must come back
        logger.error("test not started", extra={"action": "test_target", "test": str(test_id), "error": str(error)})
        return False
    if started is not None:
        await _call_and_record(database, turn, call_target, started)
    return True


async def _call_and_record(
    database: Database, turn: asyncio.Lock, call_target: CallTarget, started: StartedTest
) -> None:
    from hourbell.targets.sent import describe_call

    call = _call(started)
    try:
        sent = json.dumps(describe_call(TargetKind(started.target_kind), call))
        result = await call_target(started.target_kind, call)
        finished = FinishedTest(
            outcome=result.outcome,
            status_code=result.status_code,
            error=result.error,
            duration_ms=result.duration_ms,
            sent=sent,
        )
        async with turn:
            await database.run_async(lambda connection: target_tests.finish_test(connection, started.test_id, finished))
    except Exception:
        # Not redelivered: it may have been called, and is not called again.
        logger.exception("test not recorded", extra={"action": "test_target", "test": str(started.test_id)})


def _call(started: StartedTest) -> TargetCall:
    """As the first attempt of a run would look; the ids are the test's own."""
    return TargetCall(
        config=started.target_config,
        payload=started.payload,
        timeout=CALL_TIMEOUT,
        target_id=started.target_id,
        run_id=started.test_id,
        job_id=started.test_id,
        scheduled_for=started.created_at,
        attempt=1,
        lease_token=uuid4(),
        is_test=True,
    )
