"""Partitioner: makes the coming days' partitions. Missing one loses nothing: the default partition takes its rows."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from functools import cache
from typing import Any

from hourbell.environment import make_database
from hourbell.observability import configure_logging
from hourbell.settings import SchemaSettings
from hourbell.store.partitions import make_partitions

logger = logging.getLogger(__name__)


@cache
def wiring() -> Any:
    configure_logging()
    return make_database(SchemaSettings.from_env())


def handler(_event: dict[str, Any], _context: Any) -> dict[str, Any]:
    today = datetime.now(UTC).date()
    made = wiring().run(lambda connection: make_partitions(connection, today=today))
    logger.info("partitions made", extra={"action": "make_partitions", "days": made})
    return {"days_made": made}
