"""``hourbell keys create``: a tenant's first key, made in the database."""

from __future__ import annotations

import json

import psycopg
from hourbell.cli import main
from hourbell.domain.ids import decode
from hourbell.services.tenants import key_digest
from typer.testing import CliRunner


def create(*arguments: str):
    return CliRunner().invoke(main.app, ["keys", "create", *arguments])


def test_the_secret_is_shown_and_only_its_hash_is_kept(conninfo: str):
    result = create("--tenant", "acme", "--database", conninfo)
    assert result.exit_code == 0, result.output
    secret = result.stdout.strip()
    with psycopg.connect(conninfo) as connection:
        rows = connection.execute(
            "select secret_sha256, tenant.name from api_key join tenant using (tenant_id)"
        ).fetchall()
    assert rows == [(key_digest(secret), "acme")]


def test_json_has_the_id_that_the_key_is_revoked_by(conninfo: str):
    made = json.loads(create("--tenant", "acme", "--database", conninfo, "--json").stdout)
    with psycopg.connect(conninfo) as connection:
        found = connection.execute("select key_id, name from api_key").fetchone()
    assert found == (decode("key", made["id"]), made["name"])


def test_a_second_key_belongs_to_the_same_tenant(conninfo: str):
    create("--tenant", "acme", "--database", conninfo)
    create("--tenant", "acme", "--scope", "jobs:read", "--database", conninfo)
    with psycopg.connect(conninfo) as connection:
        assert connection.execute("select count(distinct tenant_id), count(*) from api_key").fetchone() == (1, 2)
        scopes = connection.execute("select scopes from api_key order by cardinality(scopes)").fetchall()
    assert scopes[0] == (["jobs:read"],)


def test_an_unknown_scope_is_wrong_usage(conninfo: str):
    assert create("--tenant", "acme", "--scope", "everything", "--database", conninfo).exit_code == 2


def test_a_database_that_does_not_answer_is_one_line():
    result = create("--tenant", "acme", "--database", "host=/nonexistent dbname=hourbell")
    assert result.exit_code == 1
    assert str(result.exception).startswith("The database did not do it:")
