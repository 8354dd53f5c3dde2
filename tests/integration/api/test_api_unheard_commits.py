"""A commit whose reply was lost: the transaction is repeated whole, and the caller must not see that it was."""

from __future__ import annotations

from contextlib import closing

import psycopg
import pytest
from hourbell.store.connection import Database

from tests.integration.api.conftest import Client


@pytest.fixture
def unheard(client: Client, monkeypatch):
    """From now on each transaction is committed, and its connection breaks before anybody hears of it."""
    run = Database.run

    def run_unheard(self, work):
        broken = []

        def once_more(connection):
            if not broken:
                broken.append(True)
                with closing(Database(self._conninfo)) as other:
                    run(other, work)  # this one was committed …
                raise psycopg.OperationalError("server closed the connection unexpectedly")
            return work(connection)  # … and is repeated

        return run(self, once_more)

    monkeypatch.setattr(Database, "run", run_unheard)
    return client


@pytest.mark.parametrize("name", [None, "nightly"])
def test_a_job_whose_commit_nobody_heard_of_is_created_once_and_answered(unheard: Client, admin, name):
    answer = unheard.post("/v1/jobs", {"name": name, "schedule": {"every": "50s", "max_runs": 3}, "target": "sink"})

    assert answer.status == 201, answer.text
    assert admin.execute("select count(*), sum(runs_planned) from job").fetchall() == [(1, 2)]
    assert admin.execute("select count(*) from run").fetchall() == [(2,)]


def test_a_name_that_another_job_has_is_still_refused(unheard: Client):
    unheard.job(name="nightly")

    assert unheard.post("/v1/jobs", {"name": "nightly", "schedule": {"every": "1h"}, "target": "sink"}).status == 409


def test_a_backfill_whose_commit_nobody_heard_of_runs_once_and_says_so(unheard: Client, admin):
    job = unheard.job({"cron": "0 * * * *", "timezone": "UTC"})
    span = {"from": "2027-05-09T09:00:00Z", "to": "2027-05-09T12:00:00Z"}

    answer = unheard.post(f"/v1/jobs/{job['id']}/backfill", span)

    assert (answer.json["runs"], answer.json["existing"]) == (3, 0)
    assert admin.execute("select count(*) from run").fetchall() == [(3,)]
