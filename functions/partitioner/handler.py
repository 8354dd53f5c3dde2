"""Partitioner: makes the coming days' partitions, and tidies up. Late, it loses nothing: a default one takes rows."""

from __future__ import annotations

import logging
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from typing import Any

from hourbell.environment import make_database
from hourbell.observability import configure_logging
from hourbell.services.keep_house import keep_house
from hourbell.settings import SchemaSettings

logger = logging.getLogger(__name__)


@cache
def wiring() -> Any:
    configure_logging()
    return make_database(SchemaSettings.from_env())


def handler(_event: dict[str, Any], _context: Any) -> dict[str, Any]:
    kept = asdict(keep_house(wiring(), now=datetime.now(UTC)))
    logger.info("house kept", extra={"action": "keep_house", **kept})
    return kept
