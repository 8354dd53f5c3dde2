"""Many jobs in one call: all or none, or each for itself."""

from __future__ import annotations

import json
import time
from datetime import timedelta

from hourbell.api import models
from hourbell.api.schemas import REPLIES
from hourbell.domain.instants import format_instant

from tests.integration.api.conftest import Client
from tests.seeds import T0

HOURLY = {"schedule": {"every": "1h"}, "target": "sink"}


def count(admin, table: str = "job") -> int:
    return admin.execute(f"select count(*) from {table}").fetchone()[0]  # noqa: S608 - our own tables


def test_all_are_created_as_if_one_by_one(client: Client, admin, lanes):
    soon = format_instant(T0 + timedelta(seconds=5))
    sent = [
        {**HOURLY, "name": "a", "payload": {"n": 1}, "tags": {"team": "x"}, "retry": {"max_attempts": 2}},
        {"schedule": {"at": soon}, "target": {"http": {"url": "http://127.0.0.1:9/x"}}, "timeout": "5m"},
        {"schedule": {"cron": "0 13 * * *", "timezone": "UTC"}, "target": "sink", "window": "30m"},
        {**HOURLY, "paused": True},
    ]
    answer = client.post("/v1/jobs/batch", {"jobs": sent})

    assert answer.status == 201
    REPLIES["JobBatch"].model_validate(answer.json)
    made = answer.json["items"]
    for job, body in zip(made, sent, strict=True):
        assert client.get(f"/v1/jobs/{job['id']}").json == job
        alone = client.post("/v1/jobs", {**body, "name": None}).json
        own = {"id", "name", "created_at", "updated_at"}
        assert {k: v for k, v in job.items() if k not in own} == {k: v for k, v in alone.items() if k not in own}
    assert [message.scheduled_for for message in lanes.take()] == [T0 + timedelta(seconds=5)] * 2
    assert count(admin, "target") == 2
    places = admin.execute("select isfinite(next_run_at), count(*) from due group by 1 order by 1").fetchall()
    assert places == [(False, 2), (True, 4)]


def test_payloads_are_kept_as_they_are_spelled(client: Client, admin):
    one = '{"schedule": {"every": "1h"}, "target": "sink", "payload": %s}'
    texts = [one % "[1.50, 2]", one % '"]},{"', one.replace(', "payload": %s', "")]
    raw = '{"jobs": [' + " , ".join(texts) + '], "atomic": true}'

    assert client.post("/v1/jobs/batch", raw=raw).status == 201
    assert sorted(row[0] for row in admin.execute("select payload from job").fetchall()) == [
        '"]},{"',
        "[1.50,2]",
        "null",
    ]


class TestAtomic:
    def refused(self, client: Client, admin, jobs: list, status: int = 400) -> list[str]:
        before = count(admin), count(admin, "due")
        answer = client.post("/v1/jobs/batch", {"jobs": jobs})
        assert answer.status == status, answer.text
        assert (count(admin), count(admin, "due")) == before
        return answer.fields

    def test_every_bad_item_is_named_and_none_is_created(self, client: Client, admin):
        bad = {**HOURLY, "schedule": {"cron": "61 * * * *", "timezone": "UTC"}}
        assert self.refused(client, admin, [HOURLY, bad, {**HOURLY, "nmae": 1}, 7]) == [
            "jobs[1].schedule.cron",
            "jobs[2].nmae",
            "jobs[3]",
        ]
        assert self.refused(client, admin, [HOURLY, {**HOURLY, "target": "nowhere"}]) == ["jobs[1].target"]
        over = {
            **HOURLY,
            "schedule": {
                "every": "1h",
                "end_at": format_instant(T0 - timedelta(days=1)),
                "anchor": "2020-01-01T00:00:00Z",
            },
        }
        (field,) = self.refused(client, admin, [HOURLY, over])
        assert field.startswith("jobs[1].schedule")

    def test_a_name_that_is_taken_or_given_twice(self, client: Client, stranger: Client, admin):
        stranger.target()
        stranger.job(name="a")
        client.job(name="b")
        named = [{**HOURLY, "name": name} for name in "ab"]
        assert self.refused(client, admin, named, 409) == ["jobs[1].name"]
        assert self.refused(client, admin, [named[0], named[0]], 409) == ["jobs[1].name"]

    def test_the_list_itself_is_checked(self, client: Client, admin):
        assert self.refused(client, admin, []) == ["jobs"]
        assert self.refused(client, admin, [HOURLY] * 1_001) == ["jobs"]
        assert client.post("/v1/jobs/batch", {"jobs": {}}).fields == ["jobs"]
        assert client.post("/v1/jobs/batch", {}).fields == ["jobs"]
        assert client.post("/v1/jobs/batch", {"jobs": [HOURLY], "atomc": 1}).fields == ["atomc"]

    def test_what_no_json_reader_should_take_is_named_by_its_place(self, client: Client):
        answer = client.post("/v1/jobs/batch", raw='{"jobs": [{}, {"name": "\\u0000"}]}')
        assert (answer.status, answer.fields) == (400, ["jobs[1].name"])


def test_each_for_itself(client: Client, admin):
    client.job(name="taken")
    sent = [{**HOURLY, "target": "nowhere"}, {**HOURLY, "name": "free"}, {**HOURLY, "name": "taken"}, {}]
    answer = client.post("/v1/jobs/batch", {"jobs": sent, "atomic": False})

    assert answer.status == 201
    REPLIES["JobBatch"].model_validate(answer.json)
    items = answer.json["items"]
    assert [item["status"] for item in items] == [400, 201, 409, 400]
    assert items[1]["job"]["name"] == "free"
    named = [[error["field"] for error in item.get("errors", ())] for item in items]
    assert named == [["jobs[0].target"], [], ["jobs[2].name"], ["jobs[3].schedule", "jobs[3].target"]]
    assert count(admin) == 2


def test_a_body_may_be_larger_than_any_other_but_not_than_lambda_can_answer(client: Client, admin):
    def sized(jobs: int, size: int, letter: str = "x") -> int:
        return client.post("/v1/jobs/batch", {"jobs": [{**HOURLY, "payload": letter * size}] * jobs}).status

    assert sized(15, 200_000) == 201
    assert sized(22, 200_000) == 413
    assert sized(15, 130_000, '"') == 413  # each quote is four letters in the reply
    assert count(admin) == 15


def test_a_thousand_are_created_in_well_under_two_seconds(client: Client, admin):
    body = {"jobs": [{**HOURLY, "name": f"job {n}", "tags": {"n": str(n)}} for n in range(1_000)]}
    client.post("/v1/jobs/batch", {"jobs": [HOURLY]})
    started = time.perf_counter()
    answer = client.post("/v1/jobs/batch", body)
    took = time.perf_counter() - started

    assert (answer.status, len(answer.json["items"])) == (201, 1_000)
    assert [job["name"] for job in answer.json["items"]] == [job["name"] for job in body["jobs"]]
    assert took < 2
    assert len(json.dumps(answer.text)) < 1_500 * 1_000
    assert (count(admin), count(admin, "due")) == (1_001, 1_001)


def test_a_batch_needs_the_right_to_write_jobs(client: Client):
    client.scopes = "jobs:read runs:write"
    assert client.post("/v1/jobs/batch", {"jobs": [HOURLY]}).status == 403


def test_what_is_written_alike_is_read_once_and_hashed_for_each_job(client: Client, monkeypatch):
    read: list[object] = []
    parse = models.parse_schedule
    monkeypatch.setattr(models, "parse_schedule", lambda value, now: read.append(value) or parse(value, now=now))
    spread = {"schedule": {"cron": "H H * * *", "timezone": "UTC"}, "target": "sink"}

    answer = client.post("/v1/jobs/batch", {"jobs": [spread] * 5 + [HOURLY] * 2})

    assert answer.status == 201
    made = answer.json["items"]
    assert len(read) == 2
    assert len({job["next_run_at"] for job in made[:5]}) > 1
    assert [client.get(f"/v1/jobs/{job['id']}").json for job in made] == made


def test_what_is_refused_alike_is_refused_at_every_place(client: Client):
    never = {"schedule": {"cron": "0 0 30 2 *", "timezone": "UTC"}, "target": "sink"}

    answer = client.post("/v1/jobs/batch", {"jobs": [never, HOURLY, never, {"target": "sink"}, 7]})

    assert answer.status == 400
    assert {field.split(".")[0] for field in answer.fields} == {"jobs[0]", "jobs[2]", "jobs[3]", "jobs[4]"}
