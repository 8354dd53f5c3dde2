"""What a tenant may have at most: refused clearly, exactly, and without a queue."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from hourbell.services.quotas import fold_job_changes
from hourbell.services.scan_shards import ScanRange, scan_shards
from hourbell.store.connection import Database

from tests.integration.api.conftest import HORIZON, Client, wait_for_a_waiter
from tests.seeds import T0

HOURLY = {"schedule": {"every": "1h"}, "target": "sink"}
SOON = {"at": "2027-05-09T12:00:30.000Z"}


def allow(admin, **quotas: int) -> None:
    for name, limit in quotas.items():
        admin.execute(f"update tenant set {name} = %s", (limit,))  # noqa: S608


def jobs(admin) -> int:
    (count,) = admin.execute(
        "select (select coalesce(sum(jobs), 0) from tenant_usage) + (select coalesce(sum(jobs), 0) from job_change)"
    ).fetchone()
    (true,) = admin.execute("select count(*) from job where state in ('active', 'paused')").fetchone()
    assert count == true
    return int(count)


def test_a_job_more_than_the_tenant_may_have_is_refused_and_leaves_nothing(client: Client, admin, lanes):
    allow(admin, max_jobs=2)
    client.job()
    client.job()

    refused = client.post("/v1/jobs", {**HOURLY, "schedule": {"every": "10s"}})

    assert (refused.status, refused.fields) == (409, ["max_jobs"])
    assert refused.json["type"] == "urn:hourbell:problem:quota"
    assert "may have 2" in refused.json["detail"]
    assert lanes.sent == []
    assert jobs(admin) == 2
    assert (
        client.post("/v1/jobs", {**HOURLY, "schedule": SOON}).status == 201
    )  # is planned at once, and pending no more


def test_whatever_ends_a_job_makes_room(client: Client, admin):
    allow(admin, max_jobs=1)
    first = client.job()
    assert client.post("/v1/jobs", HOURLY).status == 409

    client.delete(f"/v1/jobs/{first['id']}")

    second = client.job()
    client.post(f"/v1/jobs/{second['id']}/pause", {})
    assert client.post("/v1/jobs", HOURLY).status == 409  # a paused job is one
    assert jobs(admin) == 1


def test_a_one_off_that_a_scan_plans_makes_room(client: Client, admin, conninfo, lanes):
    allow(admin, max_jobs=1)
    client.job({"at": "2027-05-09T12:30:00.000Z"})
    database = Database(conninfo)
    scan_shards(
        database,
        lanes,
        ScanRange(first_shard=0, last_shard=127),
        owner="one",
        horizon=HORIZON,
        time_left=lambda: True,
        now=T0 + timedelta(minutes=30),
    )
    database.close()

    assert jobs(admin) == 0
    assert client.post("/v1/jobs", HOURLY).status == 201


def test_a_job_of_the_far_future_counts_from_its_creation(client: Client, admin):
    allow(admin, max_jobs=1)
    far = {"schedule": {"at": "2028-05-09T12:00:00.000Z"}, "target": "sink"}
    made = client.post("/v1/jobs", far)
    assert made.status == 201

    assert client.post("/v1/jobs", far).fields == ["max_jobs"]
    assert client.post("/v1/jobs/batch", {"jobs": [far]}).fields == ["max_jobs"]
    assert client.delete(f"/v1/jobs/{made.json['id']}").status == 204
    assert client.post("/v1/jobs", far).status == 201


def test_an_edit_that_brings_a_job_back_needs_room_and_any_other_needs_none(client: Client, admin):
    ended = client.job(SOON)
    kept = client.job()
    allow(admin, max_jobs=0)

    assert client.patch(f"/v1/jobs/{kept['id']}", {"tags": {"a": "b"}}).status == 200
    back = client.patch(f"/v1/jobs/{ended['id']}", {"schedule": {"at": "2027-05-10T12:00:00Z"}})

    assert (back.status, back.fields) == (409, ["max_jobs"])
    assert jobs(admin) == 1


@pytest.mark.parametrize("atomic", [True, False])
def test_a_batch_that_passes_the_quota_is_refused_whole(client: Client, admin, atomic: bool):
    allow(admin, max_jobs=2)

    assert client.post("/v1/jobs/batch", {"jobs": [HOURLY] * 3, "atomic": atomic}).fields == ["max_jobs"]
    assert client.post("/v1/jobs/batch", {"jobs": [HOURLY] * 2, "atomic": atomic}).status == 201
    assert jobs(admin) == 2


def test_racing_creates_never_pass_the_quota(client: Client, application, admin, postgres, database_name):
    from dataclasses import replace

    from hourbell.api.app import Application

    allow(admin, max_jobs=10)
    statuses: list[int] = []

    def create_some() -> None:
        database = Database(postgres.conninfo(database=database_name, user="hourbell_api"))
        api = application._api
        own = Application(replace(api, scheduler=replace(api.scheduler, database=database)))
        caller = Client(own, client.tenant_id)
        statuses.extend(caller.post("/v1/jobs", HOURLY).status for _ in range(6))
        database.close()

    threads = [threading.Thread(target=create_some) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(statuses) == [201] * 10 + [409] * 14
    assert jobs(admin) == 10


def test_the_last_place_is_given_once_to_two_who_ask_at_the_same_time(client: Client, admin, conninfo):
    """The second has inserted its job before the first commits, and waits for that commit only to count."""
    from hourbell.services.errors import QuotaError
    from hourbell.services.quotas import check_job_quota

    from tests.seeds import Seeder

    allow(admin, max_jobs=1)
    target_id = admin.execute("select target_id from target").fetchone()[0]
    refused: list[str] = []

    def insert(connection: psycopg.Connection[Any]) -> None:
        seeder = Seeder.__new__(Seeder)
        seeder.connection, seeder.tenant_id, seeder.target_id = connection, client.tenant_id, target_id
        seeder.job(due_at=None)

    def second() -> None:
        with psycopg.connect(conninfo) as connection:
            insert(connection)
            inserted.set()
            try:
                check_job_quota(connection, client.tenant_id)
            except QuotaError as error:
                connection.rollback()
                refused.append(error.quota)

    inserted = threading.Event()
    with psycopg.connect(conninfo) as first:
        insert(first)
        check_job_quota(first, client.tenant_id)
        thread = threading.Thread(target=second)
        thread.start()
        inserted.wait()
        wait_for_a_waiter(first)
    thread.join()

    assert refused == ["max_jobs"]
    assert jobs(admin) == 1


def test_who_has_no_quota_waits_for_nobody(client: Client, admin, conninfo):
    with psycopg.connect(conninfo) as other:
        other.execute("insert into tenant_usage values (%s, 0)", (client.tenant_id,))
        other.execute("select 1 from tenant_usage for update")

        assert client.post("/v1/jobs", HOURLY).status == 201


def test_changes_are_added_up_by_whoever_comes_first(client: Client, admin, postgres, database_name):
    for _ in range(3):
        client.job()
    database = Database(postgres.conninfo(database=database_name, user="hourbell_scanner"))
    fold_job_changes(database)
    fold_job_changes(database)
    database.close()

    assert admin.execute("select count(*) from job_change").fetchone() == (0,)
    assert admin.execute("select jobs from tenant_usage").fetchall() == [(3,)]
    allow(admin, max_jobs=4)
    assert [client.post("/v1/jobs", HOURLY).status for _ in range(2)] == [201, 409]


def test_requests_come_at_their_pace_and_a_second_more_at_once(client: Client):
    client.context = {"max_requests_per_second": "5"}

    statuses = [client.get("/v1/jobs").status for _ in range(12)]
    assert statuses == [200] * 10 + [429] * 2

    refused = client.get("/v1/jobs")
    assert refused.fields == ["max_requests_per_second"]
    assert refused.headers["retry-after"] == "1"
    assert refused.json["type"] == "urn:hourbell:problem:quota"
    client.now += timedelta(seconds=1)
    assert [client.get("/v1/jobs").status for _ in range(6)] == [200] * 5 + [429]


def test_a_refused_request_does_nothing_and_may_be_sent_again(client: Client, admin):
    client.context = {"max_requests_per_second": "1"}
    once = {"headers": {"idempotency-key": "k"}}
    while client.get("/v1/jobs").status == 200:
        pass

    assert client.post("/v1/jobs", HOURLY, **once).status == 429
    client.now += timedelta(seconds=2)
    assert client.post("/v1/jobs", HOURLY, **once).status == 201
    assert jobs(admin) == 1


def test_one_tenants_requests_are_not_anothers(client: Client, stranger: Client):
    client.context = stranger.context = {"max_requests_per_second": "1"}
    while client.get("/v1/jobs").status == 200:
        pass

    assert stranger.get("/v1/jobs").status == 200
    assert client.get("/v1/health").status == 200


def test_a_skip_that_makes_room_for_another_run_brings_no_job_back_beyond_the_quota(client: Client, admin):
    allow(admin, max_jobs=1)
    ended = client.job({"every": "50s", "max_runs": 2})
    other = client.job()

    refused = client.post(f"/v1/jobs/{ended['id']}/skip-next")
    left = jobs(admin)
    client.delete(f"/v1/jobs/{other['id']}")

    assert (refused.status, refused.fields, left) == (409, ["max_jobs"], 1)
    assert client.post(f"/v1/jobs/{ended['id']}/skip-next").status == 200
    assert jobs(admin) == 1


def test_a_pause_that_brings_back_a_job_that_no_longer_counts_needs_room(client: Client, admin):
    allow(admin, max_jobs=1)
    planned = client.job(SOON)
    client.post("/v1/jobs", HOURLY)

    refused = client.post(f"/v1/jobs/{planned['id']}/pause")

    assert (refused.status, refused.fields) == (409, ["max_jobs"])
    assert jobs(admin) == 1
    allow(admin, max_jobs=2)
    paused = client.post(f"/v1/jobs/{planned['id']}/pause")
    assert (paused.status, paused.json["state"]) == (200, "paused")
    allow(admin, max_jobs=0)
    assert client.post(f"/v1/jobs/{planned['id']}/pause", {"note": "still"}).status == 200
