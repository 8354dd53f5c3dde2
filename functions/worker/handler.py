"""Worker: executes the runs of one SQS batch and answers which messages must be delivered again."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import Any

from hourbell.domain.errors import HourbellError
from hourbell.environment import aws_caller, make_database, make_lanes, stage_key, target_key
from hourbell.lanes.deliveries import batch_response, message_ids, read_event
from hourbell.observability import configure_logging, emit
from hourbell.services.execute_attempt import AttemptExecutor
from hourbell.services.execute_batch import Executor, Visibility, execute_batch
from hourbell.settings import WorkerSettings
from hourbell.targets.client import make_client
from hourbell.targets.http import HttpCaller
from hourbell.targets.registry import Callers

logger = logging.getLogger(__name__)


def _now() -> datetime:
    return datetime.now(UTC)


@cache
def wiring() -> tuple[WorkerSettings, asyncio.Runner, Executor]:
    configure_logging()
    settings = WorkerSettings.from_env()
    # One event loop for the environment's life: connections to targets and database outlive an invocation.
    runner = asyncio.Runner()
    database, lanes = make_database(settings), make_lanes(settings)
    http = HttpCaller(
        client=make_client(private_allowed=settings.private_targets),
        clock=_now,
        key=partial(target_key, settings.signing_secret),
    )
    attempts = AttemptExecutor(callers=Callers(http=http, aws=partial(aws_caller, settings)))
    executor = Executor(
        database=database,
        lanes=lanes,
        execute=attempts.execute,
        call=attempts.call,
        clock=_now,
        heartbeat=timedelta(seconds=settings.heartbeat_seconds),
        lease=timedelta(seconds=settings.lease_seconds),
        visibility=Visibility(term=timedelta(seconds=settings.visibility_seconds), keep=lanes.keep),
    )
    _warm(runner, executor, settings)
    return settings, runner, executor


def _warm(runner: asyncio.Runner, executor: Executor, settings: WorkerSettings) -> None:
    """Open what the first run needs while its message is still held; what fails here is reported by that run."""
    runner.run(executor.database.open_async())
    try:
        stage_key(settings.signing_secret)
    except HourbellError as error:
        logger.error("signing key cannot be read", extra={"action": "warm", "error": str(error)})


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    try:
        settings, runner, executor = wiring()
        deliveries, unreadable = read_event(event)
        if unreadable:
            logger.error("unreadable messages", extra={"action": "read", "message_ids": unreadable})
        report = runner.run(execute_batch(executor, deliveries))
    except Exception:
        logger.exception("batch failed", extra={"action": "execute_batch"})
        return batch_response(message_ids(event))
    late = [attempt.lateness_ms for attempt in report.attempts if attempt.lateness_ms is not None]
    emit(settings.stage, {"LatenessMs": late})
    return batch_response(report.failed.union(unreadable))
