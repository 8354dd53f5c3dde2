"""The first deployment and the next one, where roles are made by a master who is no superuser, as on RDS."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hourbell import environment
from hourbell.local.postgres import PostgresServer, throwaway_postgres
from hourbell.store.bootstrap import OWNER, ROLES

ROOT = Path(__file__).parents[3]
MASTER = "hourbell_master"


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server of its own: roles belong to all databases."""
    with throwaway_postgres() as postgres:
        with psycopg.connect(postgres.conninfo(), autocommit=True) as superuser:
            superuser.execute(f"create role {MASTER} login createrole")
            superuser.execute("create role rds_iam")
            superuser.execute(f"grant rds_iam to {MASTER} with admin true, inherit false, set false")
            superuser.execute(f"create database hourbell owner {MASTER}")
        yield postgres


@pytest.fixture
def deploy(monkeypatch: pytest.MonkeyPatch, server: PostgresServer) -> Any:
    secrets = {"master": json.dumps({"password": "any"}), "first-key": "k" * 48}
    monkeypatch.setattr(environment, "read_secret", secrets.__getitem__)
    for name, value in {
        "STAGE": "test",
        "DATABASE": server.conninfo(database="hourbell", user=OWNER),
        "DATABASE_AUTH": "none",
        "ADMINISTRATOR": server.conninfo(database="hourbell", user=MASTER),
        "ADMINISTRATOR_SECRET": "master",
        "FIRST_KEY_SECRET": "first-key",
    }.items():
        monkeypatch.setenv(f"HOURBELL_{name}", value)
    spec = importlib.util.spec_from_file_location("handler_migrator", ROOT / "functions" / "migrator" / "handler.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    event = json.loads((ROOT / "events" / "migrator.json").read_text())
    return lambda: module.handler(event, None)["Data"]["Applied"]


def test_the_master_makes_the_roles_once_and_has_none_of_them(
    server: PostgresServer, deploy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has a role that logs in with IAM gets into RDS by password no more: the second deployment would fail."""
    assert deploy().startswith("0001_core")
    with psycopg.connect(server.conninfo(), autocommit=True) as superuser:
        usable = superuser.execute(
            "select roleid::regrole::text from pg_auth_members "
            "where member = %s::regrole and (inherit_option or set_option)",
            (MASTER,),
        ).fetchall()
        assert usable == []
        by_iam = superuser.execute(
            "select member::regrole::text from pg_auth_members where roleid = 'rds_iam'::regrole and inherit_option"
        ).fetchall()
        assert {name for (name,) in by_iam} == {OWNER, *ROLES}
        superuser.execute(f"alter role {MASTER} nologin")
    monkeypatch.setenv("HOURBELL_ADMINISTRATOR_SECRET", "nobody asks for it")
    assert deploy() == ""
