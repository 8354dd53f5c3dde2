"""The database roles, one per kind of function. Run by an administrator before the first migration."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from hourbell.store.migrate import ADVISORY_LOCK

OWNER = "hourbell_migrator"
ROLES = ("hourbell_api", "hourbell_authorizer", "hourbell_loader", "hourbell_scanner", "hourbell_worker")


def bootstrap(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    """Make the roles that are missing, and go on as the owner, so that what the migrations make belongs to it.

    The connection must be a superuser's, or the owner's own. Idempotent.
    """
    make_roles(connection)
    if connection.info.user != OWNER:
        connection.execute(sql.SQL("set role {}").format(sql.Identifier(OWNER)))


def make_roles(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    """Make the owner and the function roles where they are missing, and let the owner make what it will own.

    On RDS and Aurora each role logs in with IAM tokens. Idempotent. The connection must be an administrator's
    (superuser, or CREATEROLE and the database's owner), or the owner's own. An administrator is given none of the
    roles: RDS lets nobody in by password who has one that logs in with IAM, however indirectly (RDS user guide,
    "Database authentication"), and the master would be locked out after the first deployment.
    """
    with connection.transaction():
        connection.execute("select pg_advisory_xact_lock(%s)", (ADVISORY_LOCK,))
        for role in (OWNER, *ROLES):
            _make_role(connection, role)
        if connection.info.user == OWNER:
            return
        names = {"database": sql.Identifier(connection.info.dbname), "owner": sql.Identifier(OWNER)}
        connection.execute(sql.SQL("grant create, connect on database {database} to {owner}").format(**names))
        connection.execute(sql.SQL("grant create, usage on schema public to {owner}").format(**names))


def has_roles(connection: psycopg.Connection[tuple[Any, ...]]) -> bool:
    """Whether every role of this release is there."""
    wanted = [OWNER, *ROLES]
    found = connection.execute("select count(*) from pg_roles where rolname = any(%s)", (wanted,)).fetchone()
    return found == (len(wanted),)


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
