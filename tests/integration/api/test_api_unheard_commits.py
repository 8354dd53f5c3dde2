"""A commit whose reply was lost: what was asked for is done once, and its caller does not notice."""

from __future__ import annotations

import psycopg
import pytest

from tests.integration.api.conftest import Client

JOB = {"schedule": {"every": "50s", "max_runs": 3}, "target": "sink"}
KEY = {"Idempotency-Key": "0f9c"}


@pytest.fixture
def unheard(client: Client, monkeypatch) -> Client:
    """The connection breaks under the commit of every other transaction: it is one, and nobody hears of it."""
    commit = psycopg.Transaction.__exit__
    transactions = []

    def commit_unheard(self, *error):
        handled = commit(self, *error)
        transactions.append(self)
        if error[0] is None and len(transactions) % 2:
            self.connection.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return handled

    monkeypatch.setattr(psycopg.Transaction, "__exit__", commit_unheard)
    monkeypatch.setattr("hourbell.store.connection._pause", lambda _attempt: 0)
    return client


@pytest.mark.parametrize("headers", [{}, KEY], ids=["without a key", "with a key"])
class TestOnceAndAnswered:
    @pytest.mark.parametrize("name", [None, "nightly"])
    def test_a_job(self, unheard: Client, admin, lanes, headers, name):
        answer = unheard.post("/v1/jobs", {"name": name, **JOB}, headers=headers)

        assert answer.status == 201, answer.text
        assert admin.execute("select count(*), sum(runs_planned) from job").fetchall() == [(1, 2)]
        assert len(lanes.sent) == 2

    def test_a_batch(self, unheard: Client, admin, headers):
        answer = unheard.post("/v1/jobs/batch", {"jobs": [JOB, {**JOB, "name": "nightly"}]}, headers=headers)

        assert [job["name"] for job in answer.json["items"]] == [None, "nightly"]
        assert admin.execute("select count(*) from job").fetchall() == [(2,)]

    def test_a_target(self, unheard: Client, admin, headers):
        body = {"name": "billing", "http": {"url": "http://127.0.0.1:9/"}}

        assert unheard.post("/v1/targets", body, headers=headers).status == 201
        assert admin.execute("select count(*) from target").fetchall() == [(2,)]

    @pytest.mark.parametrize("act", ["trigger", "skip-next"])
    def test_an_act(self, unheard: Client, admin, headers, act):
        job = unheard.job({"every": "1h"})

        assert unheard.post(f"/v1/jobs/{job['id']}/{act}", headers=headers).status in (200, 202)
        assert admin.execute("select count(*) from run").fetchall() == [(1,)]


def test_a_name_that_another_job_has_is_still_refused(unheard: Client):
    unheard.job(name="nightly")

    assert unheard.post("/v1/jobs", {"name": "nightly", **JOB}).status == 409


def test_a_transaction_that_broke_before_its_commit_is_made_again(client: Client, admin, monkeypatch):
    execute, broken = psycopg.Connection.execute, []

    def break_once(self, statement, *values, **options):
        if b"pg_current_xact_id_if_assigned" in str(statement).encode() and not broken:
            broken.append(True)
            self.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return execute(self, statement, *values, **options)

    monkeypatch.setattr(psycopg.Connection, "execute", break_once)
    monkeypatch.setattr("hourbell.store.connection._pause", lambda _attempt: 0)

    assert client.post("/v1/jobs", JOB).status == 201
    assert broken
    assert admin.execute("select count(*) from job").fetchall() == [(1,)]


def test_a_server_that_has_not_noticed_yet_is_asked_again(unheard: Client, admin, monkeypatch):
    from hourbell.store.connection import Database

    is_committed, asked = Database._is_committed, []

    def not_yet(self, transaction_id):
        asked.append(transaction_id)
        if len(asked) == 1:
            raise psycopg.OperationalError("the server has not noticed yet that the connection broke")
        return is_committed(self, transaction_id)

    monkeypatch.setattr(Database, "_is_committed", not_yet)

    assert unheard.post("/v1/jobs", JOB).status == 201
    assert asked == [asked[0]] * 2
    assert admin.execute("select count(*) from job").fetchall() == [(1,)]


def test_a_backfill_whose_commit_nobody_heard_of_runs_once_and_says_so(unheard: Client, admin):
    job = unheard.job({"cron": "0 * * * *", "timezone": "UTC"})
    span = {"from": "2027-05-09T09:00:00Z", "to": "2027-05-09T12:00:00Z"}

    answer = unheard.post(f"/v1/jobs/{job['id']}/backfill", span)

    assert (answer.json["runs"], answer.json["existing"]) == (3, 0)
    assert admin.execute("select count(*) from run").fetchall() == [(3,)]
