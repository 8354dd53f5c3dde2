"""The HTTP API. Event: API Gateway HTTP API, payload format 2.0."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import Any

from hourbell.api.app import Application
from hourbell.api.calls import Api
from hourbell.cold.patience import REQUEST
from hourbell.environment import make_cold_objects, make_database, make_lanes, stage_key, target_rules
from hourbell.observability import configure_logging, emit
from hourbell.services.jobs import Scheduler
from hourbell.settings import ApiSettings

if os.environ.get("AWS_LAMBDA_INITIALIZATION_TYPE") in ("snap-start", "provisioned-concurrency"):
    # Initialised ahead of any request: what only some of them use costs nobody anything here.
    import hourbell.api.models  # noqa: F401


@cache
def application() -> Application:
    configure_logging()
    settings = ApiSettings.from_env()
    scheduler = Scheduler(
        database=make_database(settings),
        lanes=make_lanes(settings),
        horizon=timedelta(seconds=settings.horizon_seconds),
        cell=settings.cell,
        cold=make_cold_objects(settings.cold_bucket, REQUEST),
    )
    return Application(
        Api(
            scheduler=scheduler,
            stage_key=lambda: stage_key(settings.signing_secret),
            target_rules=lambda: target_rules(settings),
            lease=timedelta(seconds=settings.lease_seconds),
            count=partial(emit, settings.stage),
        )
    )


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return application().handle(event, context, now=datetime.now(UTC))
