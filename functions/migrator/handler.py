"""Migrator: brings the schema up to this release, before the functions change. A CloudFormation custom resource."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

import psycopg
from hourbell.environment import password_source
from hourbell.observability import configure_logging
from hourbell.settings import SchemaSettings
from hourbell.store.bootstrap import bootstrap
from hourbell.store.migrate import migrate
from hourbell.store.partitions import make_partitions

logger = logging.getLogger(__name__)

# Never the data's fate: deleting the stack leaves schema and rows to the database's own deletion policy.
PHYSICAL_RESOURCE_ID = "hourbell-schema"


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    configure_logging()
    if event.get("RequestType") == "Delete":
        return {"PhysicalResourceId": PHYSICAL_RESOURCE_ID}
    settings = SchemaSettings.from_env()
    password = password_source(settings)
    extra = {} if password is None else {"password": password()}
    with psycopg.connect(settings.database, autocommit=True, connect_timeout=10, **extra) as connection:
        bootstrap(connection)
        applied = migrate(connection)
        make_partitions(connection, today=datetime.now(UTC).date())
    logger.info("schema is up to date", extra={"action": "migrate", "applied": applied})
    return {"PhysicalResourceId": PHYSICAL_RESOURCE_ID, "Data": {"Applied": ",".join(applied)}}
