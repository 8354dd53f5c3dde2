"""Declaring jobs by name: created, brought up to date, or left alone; never twice, and never by halves."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from hourbell.api.schemas import REPLIES

from tests.integration.api.conftest import Answer, Client
from tests.seeds import T0

BODY = {"schedule": {"cron": "0 2 * * *", "timezone": "UTC"}, "target": "sink", "payload": {"ledger": 1.50}}


def declare(client: Client, body: dict[str, Any], name: str = "nightly", **options: Any) -> Answer:
    return client.call("PUT", f"/v1/jobs/by-name/{quote(name, safe='')}", body, **options)


def plan(client: Client, body: dict[str, Any]) -> dict[str, Any]:
    answer = declare(client, body, query={"dry_run": "true"})
    assert answer.status == 200, answer.text
    return REPLIES["Declaration"].model_validate(answer.json).model_dump()


def test_a_job_is_created_then_left_alone_then_updated(client: Client, admin):
    created = declare(client, BODY)
    assert (created.status, created.json["name"], created.json["version"]) == (201, "nightly", 1)

    again = declare(client, {**BODY, "name": "nightly", "timeout": "30s", "window": None})
    assert (again.status, again.json["version"], again.headers["etag"]) == (200, 1, '"1"')

    changed = declare(client, {**BODY, "window": "5m", "tags": {"team": "web"}})
    assert (changed.status, changed.json["id"], changed.json["version"]) == (200, created.json["id"], 2)
    assert (changed.json["window"], changed.json["tags"]) == ("PT5M", {"team": "web"})
    assert admin.execute("select count(*) from job").fetchone() == (1,)


def test_what_a_declaration_does_not_name_has_its_default(client: Client):
    declare(client, {**BODY, "window": "5m", "overlap": "skip", "retry": {"max_attempts": 9}, "tags": {"a": "b"}})
    job = declare(client, BODY).json
    assert (job["window"], job["overlap"], job["tags"]) == (None, "allow", {})
    assert job["retry"]["max_attempts"] != 9


def test_a_pause_stays_unless_the_declaration_speaks_of_it(client: Client):
    job = declare(client, BODY).json
    client.post(f"/v1/jobs/{job['id']}/pause", {"note": "incident"})
    assert declare(client, BODY).json["state"] == "paused"
    assert declare(client, {**BODY, "window": "5m"}).json["state"] == "paused"
    assert declare(client, {**BODY, "paused": False}).json["state"] == "active"


def test_an_interval_declared_again_counts_on_from_where_it_did(client: Client):
    body = {**BODY, "schedule": {"every": "7m"}}
    anchor = declare(client, body).json["schedule"]["anchor"]
    client.now = T0 + timedelta(minutes=10)
    again = declare(client, body).json
    assert (again["version"], again["schedule"]["anchor"]) == (1, anchor)


def test_a_job_that_became_an_interval_later_counts_on_too(client: Client):
    declare(client, BODY)
    client.now = T0 + timedelta(minutes=3)
    anchor = declare(client, {**BODY, "schedule": {"every": "7m"}}).json["schedule"]["anchor"]
    client.now = T0 + timedelta(minutes=5)
    again = declare(client, {**BODY, "schedule": {"every": "7m"}}).json
    assert (again["version"], again["schedule"]["anchor"]) == (2, anchor)


def test_a_one_off_declared_again_after_its_time_does_not_run_again(client: Client, admin):
    body = {**BODY, "schedule": {"at": "2027-05-09T12:01:00Z"}}
    declare(client, body)
    client.now = T0 + timedelta(hours=1)
    assert plan(client, body)["action"] == "unchanged"
    assert declare(client, body).status == 200
    assert admin.execute("select count(*) from run").fetchone() == (1,)


def test_a_dry_run_tells_what_would_be_done_and_does_nothing(client: Client, admin):
    inline = {**BODY, "target": {"http": {"url": "http://127.0.0.1:9/ring"}}}
    assert plan(client, inline) == {"action": "create", "changes": []}
    assert admin.execute("select count(*) from job").fetchone() == (0,)
    declare(client, inline)
    assert plan(client, inline) == {"action": "unchanged", "changes": []}
    assert plan(client, {**BODY, "retry": {"max_attempts": 2}}) == {"action": "update", "changes": ["target", "retry"]}
    assert admin.execute("select version from job").fetchall() == [(1,)]


def test_a_dry_run_of_an_update_is_refused_as_the_update_would_be_and_leaves_no_trace(client: Client, admin, lanes):
    declare(client, BODY)
    soon = {**BODY, "schedule": {"every": "PT1S"}}
    stored = "select job::text, due::text, (select count(*) from audit) from job join due using (job_id)"
    before = admin.execute(stored).fetchall()

    assert plan(client, soon) == {"action": "update", "changes": ["schedule"]}
    assert declare(client, {**soon, "target": "nobody"}, query={"dry_run": "true"}).fields == ["target"]

    assert admin.execute(stored).fetchall() == before
    assert (admin.execute("select count(*) from run").fetchone(), lanes.sent) == ((0,), [])


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"target": "sink"}, ["schedule"]),
        ({**BODY, "target": "nobody"}, ["target"]),
        ({**BODY, "name": "weekly"}, ["name"]),
        ({**BODY, "schedule": {"at": "2027-05-01T00:00:00Z"}}, ["schedule.at"]),
        ({**BODY, "schedule": {"at": "2027-05-01T00:00:00Z", "past": "run_now"}}, ["schedule.past"]),
        ({**BODY, "colour": "red"}, ["colour"]),
    ],
)
@pytest.mark.parametrize("dry_run", ["true", "false"])
def test_bad_declarations_name_the_field_and_do_nothing(client: Client, admin, body, fields, dry_run):
    assert declare(client, body, query={"dry_run": dry_run}).fields == fields
    assert admin.execute("select count(*) from job").fetchone() == (0,)


@pytest.mark.parametrize("name", ["a b", "team/nightly", "50%", "überweisung", "→", "a+b", "%41"])
def test_any_name_can_be_declared_however_the_gateway_spells_it(client: Client, name: str):
    first = declare(client, {**BODY, "name": name}, name)
    assert (first.status, first.json["name"]) == (201, name)
    decoded = client.call("PUT", f"/v1/jobs/by-name/{name}", {**BODY, "name": name})
    assert (decoded.status, decoded.json["id"]) == (200, first.json["id"])


def test_the_path_alone_is_enough(client: Client):
    assert declare(client, BODY, "team/nightly").json["name"] == "team/nightly"
    assert client.call("PUT", "/v1/jobs/by-name/%FF", BODY).fields == ["name"]


def test_if_match_is_honoured(client: Client):
    for nothing_yet in ('"1"', "*"):
        assert declare(client, BODY, headers={"If-Match": nothing_yet}).status == 412
    declare(client, BODY)
    assert declare(client, BODY, headers={"If-Match": "*"}).status == 200
    assert declare(client, {**BODY, "window": "5m"}, headers={"If-Match": '"2"'}).status == 412
    assert declare(client, {**BODY, "window": "5m"}, headers={"If-Match": '"1"'}).status == 200


def test_tenants_have_names_of_their_own(client: Client, stranger: Client):
    stranger.target()
    mine, theirs = declare(client, BODY), declare(stranger, BODY)
    assert (mine.status, theirs.status) == (201, 201)
    assert mine.json["id"] != theirs.json["id"]


def test_a_name_that_a_deleted_job_had_is_free(client: Client):
    client.delete(f"/v1/jobs/{declare(client, BODY).json['id']}")
    assert declare(client, BODY).status == 201
