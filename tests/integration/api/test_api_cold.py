"""Far-future one-offs: born into the cold tier, found and changed by their address, wherever their record is."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hourbell.cold.objects import ColdObjects
from hourbell.cold.segment import write_segment
from hourbell.domain.ids import decode, due_hour_of, encode, job_due_hour, new_id, new_job_id
from hourbell.domain.instants import format_instant

from tests.integration.api.conftest import Client, scan
from tests.s3 import versioned_bucket
from tests.seeds import T0

FAR = T0 + timedelta(days=180)
AT_FAR = {"at": format_instant(FAR)}
SOON = {"at": format_instant(T0 + timedelta(seconds=30))}


@pytest.fixture
def objects():
    with versioned_bucket() as objects:
        yield CountedObjects(bucket=objects.bucket, client=objects.client)


@dataclass(frozen=True, kw_only=True)
class CountedObjects(ColdObjects):
    """Counts the reads of S3."""

    reads: list[str] = field(default_factory=list)

    def _read(self, stored, part=None):
        self.reads.append(stored.key)
        return super()._read(stored, part)


def freeze(admin, objects: ColdObjects) -> list[str]:
    """Move the intake into one segment per hour, as the freezer does; the keys."""
    keys = []
    hours = [row[0] for row in admin.execute("select distinct due_hour from cold_intake order by 1")]
    for hour in hours:
        rows = admin.execute(
            "select record, tenant_id, target_id from cold_intake where due_hour = %s order by job_id", (hour,)
        ).fetchall()
        written = write_segment(hour, [row[0].encode() for row in rows])
        version, segment_id = objects.put(written), new_id(T0)
        admin.execute(
            "insert into cold_segment (segment_id, object_key, object_version, due_hour, first_id, last_id, jobs, "
            "bytes, sha256, blocks, created_at) values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            (
                *(segment_id, written.key, version, hour, written.first_id, written.last_id, written.jobs),
                *(len(written.body), written.sha256, written.blocks, T0),
            ),
        )
        admin.execute(
            "insert into cold_content (segment_id, tenant_id, target_id, due_hour, jobs) "
            "select %s, tenant_id, target_id, due_hour, count(*) from cold_intake where due_hour = %s "
            "group by tenant_id, target_id, due_hour",
            (segment_id, hour),
        )
        admin.execute("delete from cold_intake where due_hour = %s", (hour,))
        keys.append(written.key)
    return keys


@pytest.fixture(params=["in the intake", "in a segment"])
def settle(request, admin, objects):
    """Where the record is once this was called."""
    return lambda: freeze(admin, objects) if request.param == "in a segment" else None


def rows(admin, statement: str) -> list[Any]:
    return admin.execute(statement).fetchall()


# --- born ---


def test_a_far_one_off_is_accepted_in_the_cold_tier(client: Client, admin):
    job = client.job(AT_FAR, name="far", payload={"n": 1}, window="PT10M")

    assert (job["tier"], job["state"], job["version"]) == ("cold", "active", 1)
    assert job["next_runs"] == [job["next_run_at"]] == [format_instant(FAR)]
    assert job_due_hour(decode("job", job["id"])) == due_hour_of(FAR)
    assert rows(admin, "select count(*) from job") == rows(admin, "select count(*) from due") == [(0,)]
    assert rows(admin, "select count(*) from cold_intake") == [(1,)]


@pytest.mark.parametrize(
    ("schedule", "members"),
    [
        ({"at": format_instant(T0 + timedelta(hours=2, minutes=59, seconds=59, milliseconds=999))}, {}),
        ({"cron": "0 0 1 1 *", "timezone": "UTC"}, {}),
        (AT_FAR, {"paused": True}),
    ],
    ids=["near", "recurring", "paused"],
)
def test_what_is_near_recurring_or_paused_is_born_warm(client: Client, schedule, members):
    job = client.job(schedule, **members)

    assert job["tier"] == "hot"
    assert job_due_hour(decode("job", job["id"])) == 0


def test_the_first_cold_instant_is_the_start_of_the_third_hour(client: Client):
    assert client.job({"at": format_instant(T0 + timedelta(hours=3))})["tier"] == "cold"


@pytest.mark.parametrize("state", ["promoting", "promoted"])
def test_a_create_into_an_hour_on_its_way_goes_straight_to_the_hot_tier(client: Client, admin, state):
    client.job(AT_FAR)
    admin.execute("update cold_bucket set state = %s", (state,))

    job = client.job(AT_FAR, name="late")
    batch = client.post("/v1/jobs/batch", {"jobs": [{"schedule": AT_FAR, "target": "sink"}]})

    assert (job["tier"], batch.json["items"][0]["tier"]) == ("hot", "hot")
    assert job_due_hour(decode("job", job["id"])) == due_hour_of(FAR)
    assert rows(admin, "select count(*) from due") == [(2,)]
    assert client.get(f"/v1/jobs/{job['id']}").json["tier"] == "hot"


def test_a_batch_of_cold_jobs_is_a_handful_of_statements(client: Client, admin, database):
    jobs = [{"schedule": AT_FAR, "target": "sink", "name": f"n{n}", "payload": n} for n in range(300)]
    jobs.append({"schedule": {"every": "1h"}, "target": "sink"})
    statements = count_statements(database, lambda: client.post("/v1/jobs/batch", {"jobs": jobs}))

    assert [job["tier"] for job in statements.answer.json["items"]] == ["cold"] * 300 + ["hot"]
    assert [job["payload"] for job in statements.answer.json["items"][:300]] == list(range(300))
    assert rows(admin, "select count(*) from cold_intake") == rows(admin, "select count(*) from cold_name") == [(300,)]
    assert statements.count < 30


class count_statements:  # noqa: N801 - reads as a call
    def __init__(self, database, act) -> None:
        self.count = 0
        connection = database._connect()
        execute = connection.execute

        def counted(*arguments, **options):
            self.count += 1
            return execute(*arguments, **options)

        connection.execute = counted
        try:
            self.answer = act()
        finally:
            del connection.execute


# --- found ---


def test_a_cold_job_is_read_from_where_it_is(client: Client, settle, objects):
    made = client.job(AT_FAR, name="far", payload={"n": 1}, tags={"a": "b"}, window="PT10M")
    settle()

    answer = client.get(f"/v1/jobs/{made['id']}")

    assert answer.json == made
    assert answer.headers["etag"] == '"1"'
    assert len(objects.reads) <= 2


@pytest.mark.parametrize(
    "request_line",
    [
        "GET ", "PATCH ", "DELETE ", "POST /pause", "POST /resume", "POST /skip-next", "POST /trigger",
        "GET /upcoming", "GET /runs", "GET /missed",
    ],
)  # fmt: skip
def test_another_tenants_cold_job_is_an_id_that_does_not_exist(
    client: Client, stranger: Client, admin, objects, request_line
):
    method, path = request_line.split(" ")
    theirs, known = client.job(AT_FAR)["id"], len(objects.reads)
    nobodys = encode("job", new_job_id(T0, due_hour=due_hour_of(FAR)))
    freeze(admin, objects)
    body = {} if method in ("PATCH", "POST") else None

    answers = [stranger.call(method, f"/v1/jobs/{one}{path}", body) for one in (theirs, nobodys)]

    assert [answer.status for answer in answers] == [404, 404]
    assert answers[0].text == answers[1].text
    assert len(objects.reads) == known
    assert client.get(f"/v1/jobs/{theirs}").status == 200


def test_the_record_of_a_neighbour_in_the_same_segment_stays_the_neighbours(
    client: Client, stranger: Client, admin, objects
):
    stranger.target()
    stranger.job(AT_FAR)
    theirs = client.job(AT_FAR)["id"]
    stranger.job(AT_FAR)
    freeze(admin, objects)

    assert stranger.get(f"/v1/jobs/{theirs}").status == 404
    assert stranger.delete(f"/v1/jobs/{theirs}").status == 404
    assert client.get(f"/v1/jobs/{theirs}").status == 200


def test_what_a_cold_job_has_not_yet_is_empty_and_what_it_will_do_is_known(client: Client, settle):
    path = f"/v1/jobs/{client.job(AT_FAR)['id']}"
    settle()

    assert client.get(f"{path}/runs").json["items"] == []
    assert client.get(f"{path}/missed").json["items"] == []
    (occurrence,) = client.get(f"{path}/upcoming").json["occurrences"]
    assert occurrence["scheduled_for"] == format_instant(FAR)
    span = {"from": format_instant(T0 - timedelta(hours=2)), "to": format_instant(T0 - timedelta(hours=1))}
    assert client.post(f"{path}/backfill", span).status == 409


# --- changed ---


def test_an_edit_thaws_it_and_it_rings_with_its_new_settings(client: Client, settle, admin, lanes):
    made = client.job(AT_FAR, name="far", payload=1)
    settle()
    path = f"/v1/jobs/{made['id']}"

    answer = client.patch(path, {"schedule": SOON, "payload": 2}, headers={"If-Match": '"1"'})

    assert (answer.status, answer.json["tier"], answer.json["version"]) == (200, "hot", 2)
    assert (answer.json["id"], answer.json["name"], answer.json["created_at"]) == (
        made["id"], "far", made["created_at"]
    )  # fmt: skip
    assert [encode("job", message.job_id) for message in lanes.take()] == [made["id"]]
    assert client.get(path).json == {**answer.json, "updated_at": answer.json["updated_at"]}
    assert rows(admin, "select count(*) from cold_intake") == rows(admin, "select count(*) from cold_name") == [(0,)]
    assert rows(admin, "select payload from job") == [("2",)]


def test_an_edit_that_leaves_its_time_alone_keeps_its_place(client: Client, settle, admin):
    made = client.job(AT_FAR, window="PT10M")
    settle()

    edited = client.patch(f"/v1/jobs/{made['id']}", {"tags": {"a": "b"}}).json

    assert (edited["tier"], edited["next_run_at"], edited["tags"]) == ("hot", made["next_run_at"], {"a": "b"})
    ((scheduled_for, next_run_at),) = rows(admin, "select scheduled_for, next_run_at from due")
    assert scheduled_for == FAR
    assert FAR < next_run_at < FAR + timedelta(minutes=10)


def test_an_edit_of_another_version_changes_nothing(client: Client, settle, admin):
    path = f"/v1/jobs/{client.job(AT_FAR)['id']}"
    settle()
    stale = {"headers": {"If-Match": '"7"'}}

    answers = [client.patch(path, {"payload": 1}, **stale), client.delete(path, **stale)]
    answers += [client.post(f"{path}/{act}", **stale) for act in ("pause", "resume", "skip-next")]

    assert [answer.status for answer in answers] == [412] * 5
    assert client.get(path).json["tier"] == "cold"
    assert rows(admin, "select count(*) from cold_tombstone") == [(0,)]


def test_a_refused_edit_leaves_it_cold(client: Client, settle):
    client.job(name="taken")
    path = f"/v1/jobs/{client.job(AT_FAR)['id']}"
    settle()

    assert client.patch(path, {"target": "nowhere"}).fields == ["target"]
    assert client.patch(path, {"name": "taken"}).status == 409
    assert client.get(path).json["tier"] == "cold"


def test_a_deleted_cold_job_is_gone_for_good(client: Client, settle, admin, objects):
    path = f"/v1/jobs/{client.job(AT_FAR, name='far')['id']}"
    settle()

    assert client.delete(path, headers={"If-Match": '"1"'}).status == 204

    assert [client.get(path).status, client.delete(path).status, client.patch(path, {}).status] == [404] * 3
    assert rows(admin, "select count(*) from cold_tombstone") == [(1,)]
    assert rows(admin, "select count(*) from job") == [(0,)]
    freeze(admin, objects)
    assert client.get(path).status == 404
    assert client.job(AT_FAR, name="far")["tier"] == "cold"


def test_a_paused_cold_job_is_parked_in_the_hot_tier_and_resumes_there(client: Client, settle, admin):
    made = client.job(AT_FAR)
    path = f"/v1/jobs/{made['id']}"
    settle()

    paused = client.post(f"{path}/pause", {"note": "hold"}).json
    parked = rows(admin, "select next_run_at = 'infinity', scheduled_for from due")
    resumed = client.post(f"{path}/resume").json

    assert (paused["tier"], paused["state"], paused["note"], paused["version"]) == ("hot", "paused", "hold", 2)
    assert parked == [(True, FAR)]
    assert (resumed["state"], resumed["next_run_at"], resumed["version"]) == ("active", made["next_run_at"], 3)


def test_to_resume_what_is_not_paused_leaves_it_cold(client: Client, settle):
    made = client.job(AT_FAR)
    settle()

    assert client.post(f"/v1/jobs/{made['id']}/resume").json == made


def test_a_triggered_cold_job_runs_now_and_at_its_time(client: Client, settle, lanes):
    made = client.job(AT_FAR, payload=1)
    path = f"/v1/jobs/{made['id']}"
    settle()

    run = client.post(f"{path}/trigger", {"payload": 2})

    assert (run.status, run.json["scheduled_for"]) == (202, format_instant(T0))
    assert len(lanes.take()) == 1
    assert [one["id"] for one in client.get(f"{path}/runs").json["items"]] == [run.json["id"]]
    assert client.get(path).json == {**made, "tier": "hot"}


def test_a_cold_job_whose_only_occurrence_is_skipped_is_completed(client: Client, settle):
    path = f"/v1/jobs/{client.job(AT_FAR)['id']}"
    settle()

    assert client.post(f"{path}/skip-next").json["state"] == "completed"
    assert [run["state"] for run in client.get(f"{path}/runs").json["items"]] == ["skipped"]


def test_what_acts_on_a_cold_job_is_done_once_under_its_key(client: Client, settle, lanes):
    path = f"/v1/jobs/{client.job(AT_FAR)['id']}/trigger"
    settle()
    key = {"headers": {"Idempotency-Key": "once"}}

    first, second = client.post(path, **key), client.post(path, **key)

    assert (first.status, first.text) == (second.status, second.text)
    assert len(lanes.take()) == 1


def test_a_create_is_replayed_under_its_key(client: Client, settle, admin):
    key = {"headers": {"Idempotency-Key": "once"}}
    body = {"schedule": AT_FAR, "target": "sink", "name": "far"}

    first = client.post("/v1/jobs", body, **key)
    settle()
    second = client.post("/v1/jobs", body, **key)

    assert first.text == second.text
    assert rows(admin, "select count(*) from cold_name") == [(1,)]


def test_a_thawed_job_fires_once_at_its_time(client: Client, settle, admin):
    made = client.job(AT_FAR)
    settle()
    client.patch(f"/v1/jobs/{made['id']}", {"payload": 2})

    for moment in (FAR - timedelta(seconds=30), FAR):
        scan(client, moment)

    assert rows(admin, "select scheduled_for from run") == [(FAR,)]


# --- names, targets ---


def test_a_name_is_one_jobs_in_both_tiers(client: Client, settle):
    client.job(AT_FAR, name="far")
    client.job(name="near")
    other = client.job()
    settle()

    for name, schedule in (("far", AT_FAR), ("far", {"every": "1h"}), ("near", AT_FAR)):
        answer = client.post("/v1/jobs", {"name": name, "schedule": schedule, "target": "sink"})
        assert (answer.status, answer.fields) == (409, ["name"])
        batch = {"jobs": [{"name": name, "schedule": schedule, "target": "sink"}], "atomic": False}
        assert client.post("/v1/jobs/batch", batch).json["items"][0]["status"] == 409
    assert client.patch(f"/v1/jobs/{other['id']}", {"name": "far"}).status == 409


def test_of_two_in_a_batch_that_want_one_name_the_first_gets_it(client: Client):
    jobs = [{"name": "x", "schedule": schedule, "target": "sink"} for schedule in (AT_FAR, {"every": "1h"})]

    made = client.post("/v1/jobs/batch", {"jobs": jobs, "atomic": False}).json["items"]

    assert [item["status"] for item in made] == [201, 409]
    assert client.post("/v1/jobs/batch", {"jobs": [{**one, "name": "y"} for one in jobs]}).status == 409


def test_a_cold_job_is_declared_by_its_name(client: Client, settle):
    body = {"schedule": AT_FAR, "target": "sink", "payload": 1}
    made = client.call("PUT", "/v1/jobs/by-name/far", body)
    settle()

    same = client.call("PUT", "/v1/jobs/by-name/far", body)
    other = client.call("PUT", "/v1/jobs/by-name/far", {**body, "payload": 2})

    assert (made.status, made.json["tier"]) == (201, "cold")
    assert (same.status, same.json) == (200, made.json)
    assert (other.status, other.json["tier"], other.json["id"]) == (200, "hot", made.json["id"])
    assert other.json["payload"] == 2


def test_who_changed_a_cold_job_is_on_record(client: Client, settle):
    edited, deleted = (client.job(AT_FAR, name=name)["id"] for name in "ab")
    settle()
    client.now += timedelta(seconds=1)
    client.patch(f"/v1/jobs/{edited}", {"payload": 2})
    client.delete(f"/v1/jobs/{deleted}")

    assert [one["action"] for one in client.get(f"/v1/jobs/{edited}/audit").json["items"]] == ["edited", "created"]
    assert [one["action"] for one in client.get(f"/v1/jobs/{deleted}/audit").json["items"]] == ["deleted", "created"]


def test_cold_jobs_count_against_the_quota_of_jobs(client: Client, settle, admin):
    admin.execute("update tenant set max_jobs = 2")
    first = client.job(AT_FAR)
    client.job(AT_FAR)
    settle()

    assert client.post("/v1/jobs", {"schedule": AT_FAR, "target": "sink"}).status == 409
    assert client.post("/v1/jobs/batch", {"jobs": [{"schedule": AT_FAR, "target": "sink"}]}).status == 409
    client.patch(f"/v1/jobs/{first['id']}", {"payload": 1})
    assert client.post("/v1/jobs", {"schedule": AT_FAR, "target": "sink"}).status == 409
    client.delete(f"/v1/jobs/{first['id']}")
    assert client.job(AT_FAR)["tier"] == "cold"


def test_a_target_with_cold_jobs_is_not_deleted(client: Client, settle):
    target = client.target("billing")
    path = f"/v1/jobs/{client.job(AT_FAR, target='billing')['id']}"
    settle()

    assert client.delete(f"/v1/targets/{target['id']}").status == 409
    client.delete(path)
    assert client.delete(f"/v1/targets/{target['id']}").status == 204


# --- lists ---


@pytest.fixture
def spread(client: Client, settle) -> list[dict[str, Any]]:
    """Cold jobs of three hours, as a list shows them: by hour, then as they were made."""
    made = [client.job({"at": format_instant(FAR + timedelta(minutes=minute))}) for minute in (100, 0, 45, 200, 30)]
    settle()
    return sorted(made, key=lambda job: (job["next_run_at"][:13], job["id"]))


def pages(client: Client, **query: Any) -> list[list[dict[str, Any]]]:
    found, cursor = [], None
    while True:
        page = client.get("/v1/jobs", query={**query, **({"cursor": cursor} if cursor else {})}).json
        found.append(page["items"])
        cursor = page["next_cursor"]
        if cursor is None:
            return found


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
def test_cold_jobs_are_listed_hour_by_hour(client: Client, spread, limit):
    found = pages(client, tier="cold", limit=limit)

    assert [job for page in found for job in page] == spread
    assert all(len(page) <= limit for page in found)


def test_cold_jobs_are_listed_up_to_an_instant(client: Client, spread):
    before = format_instant(FAR + timedelta(minutes=45))

    (found,) = pages(client, tier="cold", due_before=before)

    assert found == [job for job in spread if job["next_run_at"] < before]
    assert len(found) == 2


def test_a_page_ends_where_its_time_ends_and_says_where_to_go_on(client: Client, admin, objects, monkeypatch):
    monkeypatch.setattr("hourbell.services.list_cold_jobs.READS_PER_PAGE", 1)
    monkeypatch.setattr("hourbell.services.list_cold_jobs.HOURS_PER_PAGE", 2)
    made = [client.job({"at": format_instant(FAR + timedelta(hours=hour))})["id"] for hour in range(5)]
    freeze(admin, objects)

    found = pages(client, tier="cold")

    assert [job["id"] for page in found for job in page] == made
    assert len(found) >= 5


def test_a_list_leaves_out_what_left_the_tier(client: Client, spread, admin):
    client.delete(f"/v1/jobs/{spread[0]['id']}")
    client.patch(f"/v1/jobs/{spread[1]['id']}", {"payload": 1})

    (found,) = pages(client, tier="cold")

    assert found == spread[2:]
    assert [job["id"] for job in client.get("/v1/jobs").json["items"]] == [spread[1]["id"]]


def test_a_list_shows_no_other_tenants_jobs(client: Client, stranger: Client, spread):
    assert pages(stranger, tier="cold") == [[]]


def test_a_cursor_of_the_cold_list_is_good_for_it_alone(client: Client, spread):
    cursor = client.get("/v1/jobs", query={"tier": "cold", "limit": 1}).json["next_cursor"]

    assert client.get("/v1/jobs", query={"cursor": cursor}).fields == ["cursor"]
    other = {"tier": "cold", "due_before": format_instant(FAR), "cursor": cursor}
    assert client.get("/v1/jobs", query=other).fields == ["cursor"]
    assert client.get("/v1/jobs", query={"tier": "cold", "cursor": cursor[:-1]}).fields == ["cursor"]


def test_a_cold_job_is_found_by_its_name(client: Client, settle):
    made = client.job(AT_FAR, name="far", tags={"team": "a"})
    client.job(name="near")
    settle()

    for query in ({}, {"tier": "cold"}, {"tag": "team:a"}, {"q": "FA"}, {"target": "sink"}, {"state": "active"}):
        assert client.get("/v1/jobs", query={"name": "far", **query}).json["items"] == [made], query
    for query in ({"tier": "hot"}, {"tag": "team:b"}, {"q": "x"}, {"target": "other"}, {"state": "paused"}):
        assert client.get("/v1/jobs", query={"name": "far", **query}).json["items"] == [], query
    before = {"tier": "cold", "due_before": format_instant(FAR)}
    assert client.get("/v1/jobs", query={"name": "far", **before}).json["items"] == []
    assert client.get("/v1/jobs", query={"name": "near", "tier": "cold"}).json["items"] == []


@pytest.mark.parametrize("name", ["state", "tag", "q", "target"])
def test_a_filter_that_the_cold_tier_cannot_serve_is_refused_by_name(client: Client, name):
    value = "active" if name == "state" else "a:b"

    assert client.get("/v1/jobs", query={"tier": "cold", name: value}).fields == [name]


def test_a_list_asks_for_tiers_and_times_that_there_are(client: Client):
    assert client.get("/v1/jobs", query={"tier": "warm"}).fields == ["tier"]
    assert client.get("/v1/jobs", query={"tier": "cold", "due_before": "soon"}).fields == ["due_before"]


def test_stats_count_cold_jobs_by_the_hour(client: Client, stranger: Client, spread):
    client.delete(f"/v1/jobs/{spread[0]['id']}")

    hours = [format_instant(FAR + timedelta(hours=hour)) for hour in (0, 1, 3)]
    cold = client.get("/v1/stats").json["cold"]
    assert cold == {
        "hours": [{"hour": hour, "jobs": n} for hour, n in zip(hours, (2, 1, 1), strict=True)],
        "capped": False,
    }
    assert stranger.get("/v1/stats").json["cold"]["hours"] == []


# --- unreadable ---


@pytest.fixture(params=["deleted", "altered"])
def damage(request, admin, objects):
    """Freezes the intake, and damages the segment; its key."""

    def do() -> str:
        (key,) = freeze(admin, objects)
        admin.execute("update cold_segment set object_version = null")
        if request.param == "deleted":
            objects.delete(key)
        else:
            objects.client().put_object(Bucket=objects.bucket, Key=key, Body=b"x" * 1000)
        return key

    return do


def test_a_record_that_cannot_be_read_is_never_a_404(client: Client, damage, metrics, caplog):
    made = client.job(AT_FAR)
    key = damage()

    answers = [client.get(f"/v1/jobs/{made['id']}"), client.patch(f"/v1/jobs/{made['id']}", {"payload": 1})]

    assert [answer.status for answer in answers] == [503, 503]
    assert answers[0].json["type"] == "urn:hourbell:problem:cold-unreadable"
    assert key not in answers[0].text
    assert {getattr(record, "object", None) for record in caplog.records} == {key}
    assert metrics == [{"ColdSegmentsBroken": 1}] * 2


def test_a_segment_is_found_where_compaction_put_it_meanwhile(client: Client, admin, objects):
    """The catalogue was read just before an object was replaced, and S3 just after."""
    made = client.job(AT_FAR)
    (old,) = freeze(admin, objects)
    find = ColdObjects.find

    def compacted(self, stored, job_id: UUID):
        if stored.key == old:
            body = objects.client().get_object(Bucket=self.bucket, Key=old)["Body"].read()
            objects.client().put_object(Bucket=self.bucket, Key="cold/new", Body=body)
            objects.client().delete_object(Bucket=self.bucket, Key=old)
            admin.execute("update cold_segment set object_key = 'cold/new', object_version = null")
            stored = stored._replace(version=None)
        return find(self, stored, job_id)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ColdObjects, "find", compacted)
        assert client.get(f"/v1/jobs/{made['id']}").json == made


def test_records_of_a_newer_format_are_not_guessed(client: Client, admin):
    made = client.job(AT_FAR)
    admin.execute("""update cold_intake set record = replace(record, '"v":1', '"v":2')""")

    assert client.get(f"/v1/jobs/{made['id']}").status == 503
