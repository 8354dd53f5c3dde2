"""``Idempotency-Key``: one request, however often it is sent."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import timedelta

import psycopg
import pytest
from hourbell.store.idempotency import delete_old_requests, lock_request

from tests.integration.api.conftest import Client
from tests.seeds import T0

KEY = {"Idempotency-Key": "nightly-2027-05-09"}
JOB = {"schedule": {"at": "2027-05-09T12:00:30.000Z"}, "target": "sink", "payload": {"n": 1.50}}


def count(admin, table: str) -> int:
    (found,) = admin.execute(f"select count(*) from {table}").fetchone()  # noqa: S608
    return found


def everything(admin) -> list:
    return [
        admin.execute(f"select * from {table} order by 1, 2").fetchall()  # noqa: S608
        for table in ("job", "run", "target", "due")
    ]


def test_the_same_request_is_answered_the_same_also_when_its_time_has_passed(client: Client, admin, lanes):
    first = client.post("/v1/jobs", JOB, headers=KEY)
    client.now = T0 + timedelta(hours=23)

    again = client.post("/v1/jobs", JOB, headers=KEY)

    assert (first.status, again.status) == (201, 201)
    assert again.text == first.text
    assert again.headers["etag"] == first.headers["etag"]
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert count(admin, "job") == 1
    assert len(lanes.sent) == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/targets", {"name": "billing", "http": {"url": "http://127.0.0.1:9/"}}),
        ("/v1/jobs/batch", {"jobs": [JOB, JOB]}),
        ("/v1/jobs/{id}/trigger", {"payload": 1}),
        ("/v1/jobs/{id}/trigger", None),
        ("/v1/jobs/{id}/skip-next", None),
        ("/v1/runs/redrive", {"filter": {"state": "skipped"}}),
    ],
)
def test_everything_that_acts_acts_once(client: Client, admin, path: str, body):
    job = client.job({"every": "1h"})
    client.post(f"/v1/jobs/{job['id']}/skip-next")
    wanted = path.replace("{id}", job["id"])

    first = client.post(wanted, body, headers=KEY)
    after_first = everything(admin)
    again = client.post(wanted, body, headers=KEY)

    assert first.status < 300, first.text
    assert (again.status, again.text) == (first.status, first.text)
    assert everything(admin) == after_first


def test_another_request_under_the_same_key_is_422(client: Client, admin):
    client.post("/v1/jobs", JOB, headers=KEY)

    other_body = client.post("/v1/jobs", {**JOB, "payload": 2}, headers=KEY)
    other_path = client.post("/v1/jobs/batch", JOB, headers=KEY)

    assert (other_body.status, other_body.fields) == (422, ["Idempotency-Key"])
    assert other_path.status == 422
    assert count(admin, "job") == 1


def test_what_was_refused_may_be_sent_again_with_its_key(client: Client, admin):
    refused = client.post("/v1/jobs", {**JOB, "target": "later"}, headers=KEY)
    client.target("later")

    accepted = client.post("/v1/jobs", {**JOB, "target": "later"}, headers=KEY)

    assert (refused.status, accepted.status) == (400, 201)
    assert "idempotency-replayed" not in accepted.headers


def test_a_key_is_forgotten_after_a_day(client: Client, admin):
    client.post("/v1/jobs/batch", {"jobs": [{"schedule": {"every": "1h"}, "target": "sink"}]}, headers=KEY)
    client.now = T0 + timedelta(hours=24)

    again = client.post("/v1/jobs/batch", {"jobs": [{"schedule": {"every": "2h"}, "target": "sink"}]}, headers=KEY)

    assert again.status == 201
    assert count(admin, "job") == 2
    assert count(admin, "idempotent_request") == 1
    assert delete_old_requests(admin, now=T0 + timedelta(hours=47)) == 0
    assert delete_old_requests(admin, now=T0 + timedelta(hours=48)) == 1


def test_tenants_may_use_the_same_key(client: Client, stranger: Client, admin):
    stranger.target()

    answers = [one.post("/v1/jobs", JOB, headers=KEY) for one in (client, stranger)]

    assert [answer.status for answer in answers] == [201, 201]
    assert count(admin, "job") == 2


def test_while_one_is_carried_out_the_other_is_told_to_come_back(client: Client, admin, conninfo):
    with closing(psycopg.connect(conninfo)) as other:
        assert lock_request(other, client.tenant_id, KEY["Idempotency-Key"])
        meanwhile = client.post("/v1/jobs", JOB, headers=KEY)
        other.rollback()

    assert (meanwhile.status, meanwhile.headers["retry-after"]) == (409, "1")
    assert meanwhile.json["type"].endswith("request-under-way")
    assert client.post("/v1/jobs", JOB, headers=KEY).status == 201
    assert count(admin, "job") == 1


@pytest.mark.parametrize("key", ["", "with blank", "x" * 256, "é", "tab\t", "nul\0"])
def test_a_key_that_is_none_is_refused_by_name(client: Client, admin, key: str):
    answer = client.post("/v1/jobs", JOB, headers={"Idempotency-Key": key})

    assert (answer.status, answer.fields) == (400, ["Idempotency-Key"])
    assert count(admin, "job") == 0


def test_reading_ignores_it(client: Client, admin):
    assert client.get("/v1/jobs", headers=KEY).status == 200
    assert client.post("/v1/schedules/preview", {"schedule": {"every": "1h"}}, headers=KEY).status == 200
    assert count(admin, "idempotent_request") == 0


def test_a_repetition_of_the_whole_transaction_finds_what_the_first_has_done(client: Client, admin, monkeypatch):
    """As when the connection breaks in a way that hides that the transaction was committed."""
    from hourbell.store.connection import Database

    transact = Database.transact

    def transact_twice(self, work):
        transact(self, work)
        return transact(self, work)

    monkeypatch.setattr(Database, "transact", transact_twice)
    answer = client.post("/v1/jobs", JOB, headers=KEY)

    assert answer.status == 201
    assert json.loads(answer.text)["payload"] == {"n": 1.5}
    assert count(admin, "job") == 1
