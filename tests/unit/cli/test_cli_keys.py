"""``hourbell keys`` over the API."""

from __future__ import annotations

import pytest
from hourbell.cli import keys
from rich.console import Console

from tests.unit.cli.test_cli import Stage

KEY = {
    "id": "key_1",
    "name": "ci",
    "scopes": ["jobs:read"],
    "created_at": "2027-05-09T12:00:00.000Z",
    "expires_at": None,
    "revoked_at": "2027-05-10T12:00:00.000Z",
    "last_used_at": "2027-05-09T13:00:00.000Z",
    "previous_secret_expires_at": None,
}


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)


def test_the_secret_of_a_new_key_is_all_that_is_printed(stage: Stage):
    stage.answer("POST", "/v1/keys", {**KEY, "secret": "hb_live_x"}, 201)

    result = stage.run("keys", "create", "--name", "ci", "--scope", "jobs:read", "--expires", "2027-12-31T00:00:00Z")

    assert result.output == "hb_live_x\n"
    assert stage.sent() == {"name": "ci", "scopes": ["jobs:read"], "expires_at": "2027-12-31T00:00:00Z"}


def test_whoever_watches_is_told_the_id_beside_the_secret(stage: Stage, monkeypatch):
    stage.answer("POST", "/v1/keys", {**KEY, "secret": "hb_live_x"}, 201)
    monkeypatch.setattr(keys, "console", lambda *, stderr: Console(stderr=stderr, highlight=False, force_terminal=True))

    result = stage.run("keys", "create", "--name", "ci")

    assert result.stdout == "hb_live_x\n"
    assert "Its id: key_1 (ci)" in result.stderr


def test_a_key_without_a_name_is_not_called_the_first(stage: Stage):
    stage.answer("POST", "/v1/keys", {**KEY, "secret": "hb_live_x"}, 201)
    stage.run("keys", "create")
    assert stage.sent()["name"] == "made by hourbell keys create"


def test_keys_are_listed_with_their_last_use(stage: Stage):
    stage.answer("GET", "/v1/keys", {"items": [KEY], "next_cursor": None})

    output = stage.run("keys", "list").output

    assert "2027-05-09T13:00:00.000Z" in output
    assert "revoked 2027-05-10" in output


def test_a_rotated_key_prints_its_new_secret(stage: Stage):
    stage.answer("POST", "/v1/keys/key_1/rotate", {**KEY, "secret": "hb_live_y"})

    assert stage.run("keys", "rotate", "key_1", "--grace", "1h").output == "hb_live_y\n"
    assert stage.sent() == {"grace": "1h"}
    stage.run("keys", "rotate", "key_1", "--force")
    assert stage.sent() == {"grace": "P1D", "force": True}


def test_revoking_asks_by_name(stage: Stage):
    stage.answer("GET", "/v1/keys/key_1", KEY)
    stage.answer("DELETE", "/v1/keys/key_1", None, 204)

    refused = stage.run("keys", "revoke", "key_1", stdin="n\n")
    methods = [request.method for request in stage.seen]
    agreed = stage.run("keys", "revoke", "key_1", "--yes")

    assert (refused.exit_code, methods) == (1, ["GET"])
    assert "ci" in refused.output
    assert (agreed.exit_code, agreed.output) == (0, "Revoked key_1.\n")


def test_a_key_made_in_the_database_has_no_end(stage: Stage):
    assert stage.run("keys", "create", "--tenant", "acme", "--expires", "2027-12-31T00:00:00Z").exit_code == 2
