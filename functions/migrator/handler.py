"""Migrator: brings the schema up to this release, before the functions change, and makes the very first API key.

A CloudFormation custom resource.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

import psycopg
from hourbell.environment import password_source, read_secret, secret_password
from hourbell.observability import configure_logging
from hourbell.services.first_key import ensure_first_key
from hourbell.settings import MigratorSettings
from hourbell.store.bootstrap import has_roles, make_roles
from hourbell.store.migrate import migrate
from hourbell.store.partitions import make_partitions

logger = logging.getLogger(__name__)

# Never the data's fate: deleting the stack leaves schema and rows to the database's own deletion policy.
PHYSICAL_RESOURCE_ID = "hourbell-schema"


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    configure_logging()
    if event.get("RequestType") == "Delete":
        return {"PhysicalResourceId": PHYSICAL_RESOURCE_ID}
    from hourbell.domain.clock import check_zone_data

    check_zone_data()  # fails the deployment rather than every job
    settings, now = MigratorSettings.from_env(), datetime.now(UTC)
    if settings.administrator and not _has_roles(settings):
        password = secret_password(settings.administrator_secret)
        with _connect(settings.administrator, password) as connection:
            make_roles(connection)
    with _connect_as_owner(settings) as connection:
        applied = migrate(connection)
        make_partitions(connection, today=now.date())
        first_key = ensure_first_key(connection, lambda: read_secret(settings.first_key_secret), now=now)
    logger.info("schema is up to date", extra={"action": "migrate", "applied": applied, "first_key_made": first_key})
    return {"PhysicalResourceId": PHYSICAL_RESOURCE_ID, "Data": {"Applied": ",".join(applied)}}


def _has_roles(settings: MigratorSettings) -> bool:
    try:
        with _connect_as_owner(settings) as connection:
            return has_roles(connection)
    except psycopg.OperationalError:  # the first deployment: there is no owner yet
        return False


def _connect_as_owner(settings: MigratorSettings) -> psycopg.Connection[tuple[Any, ...]]:
    password = password_source(settings)
    return _connect(settings.database, None if password is None else password())


def _connect(database: str, password: str | None) -> psycopg.Connection[tuple[Any, ...]]:
    return psycopg.connect(database, autocommit=True, connect_timeout=10, password=password)
