"""The database roles, one per kind of function. Run by an administrator before the first migration."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

OWNER = "hourbell_migrator"
ROLES = ("hourbell_api", "hourbell_authorizer", "hourbell_loader", "hourbell_scanner", "hourbell_worker")


def bootstrap(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    """Make the owner and the function roles where they are missing, and let the owner own what comes.

    On RDS and Aurora each role may also log in with an IAM token. Idempotent. The connection must belong to an
    administrator (superuser, or CREATEROLE with the right to create in this database); afterwards it acts as the
    owner, so that everything the migrations make belongs to it.
    """
    with connection.transaction():
        for role in (OWNER, *ROLES):
            _make_role(connection, role)
        database = connection.info.dbname
        if connection.info.user != OWNER:
            connection.execute(sql.SQL("grant {} to current_user").format(sql.Identifier(OWNER)))
            connection.execute(
                sql.SQL("grant create, connect on database {} to {}").format(
                    sql.Identifier(database), sql.Identifier(OWNER)
                )
            )
            connection.execute(sql.SQL("grant create, usage on schema public to {}").format(sql.Identifier(OWNER)))
    if connection.info.user != OWNER:
        connection.execute(sql.SQL("set role {}").format(sql.Identifier(OWNER)))


def _make_role(connection: psycopg.Connection[tuple[Any, ...]], role: str) -> None:
    name = sql.Identifier(role)
    known = connection.execute("select 1 from pg_roles where rolname = %s", (role,)).fetchone()
    if known is None:
        try:
            with connection.transaction():
                connection.execute(sql.SQL("create role {} login").format(name))
        except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
            pass  # another database of this server was bootstrapped at the same moment
    has_iam = connection.execute("select 1 from pg_roles where rolname = 'rds_iam'").fetchone()
    if has_iam is not None:
        connection.execute(sql.SQL("grant rds_iam to {}").format(name))
