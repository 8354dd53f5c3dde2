"""Jobs over the API: what is accepted is stored, planned when it is soon, and shown as it is."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest
from hourbell.api.schemas import REPLIES
from hourbell.domain.ids import decode
from hourbell.domain.instants import format_instant
from hourbell.domain.limits import LAMBDA_MAX_RESPONSE_BYTES

from tests.integration.api.conftest import Client
from tests.seeds import T0


def iso(instant: datetime) -> str:
    return format_instant(instant)


def due(admin) -> list[tuple]:
    return admin.execute("select job_id, scheduled_for, next_run_at from due order by next_run_at").fetchall()


def due_texts(admin) -> list[tuple]:
    return admin.execute("select scheduled_for, next_run_at::text from due").fetchall()


def runs(admin) -> list[tuple]:
    return admin.execute("select scheduled_for, state, schedule_version from run order by scheduled_for").fetchall()


class TestCreate:
    def test_a_job_far_ahead_waits_in_the_hot_table(self, client: Client, admin, lanes):
        at = T0 + timedelta(hours=1, milliseconds=345)

        job = client.job({"at": iso(at)}, name="one")

        assert due(admin) == [(decode("job", job["id"]), at, at)]
        assert (job["state"], job["next_run_at"], job["next_runs"]) == ("active", iso(at), [iso(at)])
        assert lanes.sent == []

    def test_a_one_off_inside_the_horizon_is_sent_at_once_and_still_active(self, client: Client, admin, lanes):
        at = T0 + timedelta(seconds=8, milliseconds=345)

        job = client.job({"at": iso(at)})

        assert runs(admin) == [(at, "queued", 1)]
        assert [(message.scheduled_for, message.ready_at) for message in lanes.sent] == [(at, at)]
        assert due(admin) == []
        assert (job["state"], job["next_run_at"]) == ("active", iso(at))
        assert client.get(f"/v1/jobs/{job['id']}").json == job

    def test_a_one_off_is_completed_once_its_run_has_ended(self, client: Client, admin):
        job = client.job({"at": iso(T0 + timedelta(seconds=8))})
        admin.execute("update run set state = 'succeeded', wake_at = null")

        shown = client.get(f"/v1/jobs/{job['id']}").json

        assert (shown["state"], shown["next_run_at"], shown["next_runs"]) == ("completed", None, [])

    def test_every_shows_the_next_five_though_the_scan_is_ahead(self, client: Client, admin):
        job = client.job({"every": "2s"})

        assert job["next_runs"] == [iso(T0 + timedelta(seconds=2 * n)) for n in range(1, 6)]
        assert len(runs(admin)) == 60
        assert due(admin)[0][1] == T0 + timedelta(seconds=122)

    def test_a_lane_that_is_down_does_not_refuse_what_is_stored(self, client: Client, admin, lanes):
        lanes.refuse = 1

        client.job({"at": iso(T0 + timedelta(seconds=8))})

        assert admin.execute("select wake_at from run").fetchall() == [(T0,)]

    def test_a_sender_that_breaks_does_not_refuse_what_is_stored(self, client: Client, admin, lanes, monkeypatch):
        def explode(*_args, **_kwargs):
            raise RuntimeError("no route to host")

        monkeypatch.setattr(type(lanes), "send", explode)

        client.job({"at": iso(T0 + timedelta(seconds=8))})

        assert len(runs(admin)) == 1

    def test_the_payload_comes_back_as_it_was_spelled(self, client: Client, admin):
        payload = (
            r'{"b": 1.50, "a" : [1e2, -0, 12345678901234567890123], "t": "\u00fc \\u0000 \ud83d\ude00", "b2": " x  y "}'
        )
        raw = f'{{"schedule": {{"every": "1h"}}, "target": "sink", "payload": {payload}}}'

        answer = client.post("/v1/jobs", raw=raw)

        compact = r'{"b":1.50,"a":[1e2,-0,12345678901234567890123],"t":"\u00fc \\u0000 \ud83d\ude00","b2":" x  y "}'
        assert answer.status == 201
        assert f'"payload":{compact},' in answer.text
        assert admin.execute("select payload from job").fetchall() == [(compact,)]

    def test_the_reply_is_what_the_document_says(self, client: Client):
        job = client.job(
            {"cron": "0 2 * * *", "timezone": "Asia/Kolkata", "exclude": ["2027-12-25"]},
            name="nightly-settlement",
            payload={"ledger": 7},
            window="30m",
            catch_up={"policy": "run_once", "within": "1d"},
            overlap="allow",
            retry={"max_attempts": 5, "backoff": "exponential", "initial": "10s", "maximum": "1h", "max_age": "1d"},
            timeout="30s",
            tags={"team": "payments"},
        )

        REPLIES["Job"].model_validate(job)
        assert {name: job[name] for name in ("window", "catch_up", "timeout", "tags", "target", "version", "tier")} == {
            "window": "PT30M",
            "catch_up": {"policy": "run_once", "within": "P1D"},
            "timeout": "PT30S",
            "tags": {"team": "payments"},
            "target": "sink",
            "version": 1,
            "tier": "hot",
        }
        assert job["retry"]["initial"] == "PT10S"
        assert job["created_at"] == job["updated_at"] == iso(T0)

    def test_a_window_moves_the_start_and_not_the_occurrence(self, client: Client, admin):
        job = client.job({"cron": "0 2 * * *"}, window="PT30M")

        ((_, scheduled_for, next_run_at),) = due(admin)
        assert job["next_run_at"] == iso(scheduled_for) == "2027-05-10T02:00:00.000Z"
        assert timedelta(0) <= next_run_at - scheduled_for < timedelta(minutes=30)

    def test_a_time_in_the_past_runs_now_when_asked_to(self, client: Client, admin, lanes):
        job = client.job({"at": "2001-01-01T00:00:00Z", "past": "run_now"})

        assert job["state"] == "active"
        assert [(row[0], row[1]) for row in runs(admin)] == [(T0 + timedelta(milliseconds=1), "queued")]
        assert len(lanes.sent) == 1

    def test_a_paused_job_is_created_silent(self, client: Client, admin, lanes):
        job = client.job({"every": "2s"}, paused=True)

        assert (job["state"], job["next_run_at"]) == ("paused", None)
        assert runs(admin) == []
        assert lanes.sent == []

    def test_equal_inline_targets_are_one_and_different_ones_two(self, client: Client, admin):
        there = {"http": {"url": "http://127.0.0.1:9/x", "headers": {"X-A": "1", "X-B": "2"}}}
        same = {"http": {"headers": {"X-B": "2", "X-A": "1"}, "method": "POST", "url": "http://127.0.0.1:9/x"}}
        for target in (there, same, {"http": {"url": "http://127.0.0.1:9/y"}}):
            job = client.job(target=target)

        assert job["target"]["http"]["url"] == "http://127.0.0.1:9/y"
        assert admin.execute("select count(*) from target where name is null").fetchone() == (2,)
        assert [target["name"] for target in client.get("/v1/targets").json["items"]] == ["sink"]

    def test_a_name_is_taken_until_its_job_is_deleted(self, client: Client, stranger: Client):
        job = client.job(name="nightly")
        again = {"name": "nightly", "schedule": {"every": "1h"}, "target": "sink"}

        refused = client.post("/v1/jobs", again)
        assert (refused.status, refused.fields) == (409, ["name"])

        stranger.target()
        assert stranger.post("/v1/jobs", again).status == 201
        assert client.delete(f"/v1/jobs/{job['id']}").status == 204
        assert client.post("/v1/jobs", again).status == 201

    def test_max_runs_shows_no_more_than_are_left(self, client: Client, admin):
        job = client.job({"every": "50s", "max_runs": 3})

        assert job["next_runs"] == [iso(T0 + timedelta(seconds=50 * n)) for n in (1, 2, 3)]
        assert len(runs(admin)) == 2
        client.now = T0 + timedelta(seconds=60)
        assert len(client.get(f"/v1/jobs/{job['id']}").json["next_runs"]) == 2


class TestEdit:
    def test_the_etag_guards_the_version(self, client: Client):
        job = client.job()
        path = f"/v1/jobs/{job['id']}"
        etag = client.get(path).headers["etag"]

        edited = client.patch(path, {"payload": 2}, headers={"If-Match": etag})
        late = client.patch(path, {"payload": 3}, headers={"If-Match": etag})

        assert (edited.status, edited.json["version"], edited.headers["etag"]) == (200, 2, '"2"')
        assert (late.status, late.fields) == (412, [])
        assert client.patch(path, {"payload": 4}, headers={"If-Match": '"nope"'}).status == 412
        assert client.patch(path, {"payload": 5}, headers={"If-Match": '"7", "2"'}).status == 200
        assert client.patch(path, {"payload": 6}, headers={"If-Match": "*"}).status == 200
        assert client.delete(path, headers={"If-Match": '"2"'}).status == 412
        assert client.get(path).json["payload"] == 6

    def test_a_patch_merges_and_leaves_the_due_row_alone(self, client: Client, admin):
        job = client.post(
            "/v1/jobs",
            raw='{"name": "five", "schedule": {"cron": "*/5 * * * *"}, "target": "sink", "tags": {"a": "1"}, '
            '"payload": {"a": {"x": 1, "y": 2}, "n": 1.50}}',
        ).json
        before = due(admin)
        # The occurrence is due and not claimed yet: an edit of something else must not lose it.
        client.now = T0 + timedelta(minutes=7)

        answer = client.patch(
            f"/v1/jobs/{job['id']}", raw='{"payload": {"a": {"x": null, "z": 1e1}}, "tags": {"b": "2", "a": null}}'
        )

        assert answer.status == 200
        assert '"payload":{"a":{"y":2,"z":1e1},"n":1.50}' in answer.text
        edited = answer.json
        assert (edited["tags"], edited["name"], edited["schedule"]) == ({"b": "2"}, "five", job["schedule"])
        assert due(admin) == before
        assert edited["next_run_at"] == iso(T0 + timedelta(minutes=5))
        assert admin.execute("select schedule_version from job").fetchone() == (1,)

    def test_a_changed_schedule_moves_to_the_first_occurrence_after_now(self, client: Client, admin):
        job = client.job({"cron": "0 12 * * *"})
        client.now = T0 + timedelta(days=3, hours=1)

        edited = client.patch(f"/v1/jobs/{job['id']}", {"schedule": {"cron": "30 13 * * *"}}).json

        assert edited["next_run_at"] == iso(T0 + timedelta(days=3, hours=1, minutes=30))
        assert due(admin)[0][1] == T0 + timedelta(days=3, hours=1, minutes=30)
        assert admin.execute("select schedule_version, version from job").fetchone() == (2, 2)

    def test_another_spelling_of_the_same_schedule_is_no_change(self, client: Client, admin):
        job = client.job({"cron": "0 12 * * *", "timezone": "UTC"})
        before = due(admin)
        client.now = T0 + timedelta(days=3)

        client.patch(f"/v1/jobs/{job['id']}", {"schedule": {"cron": "0  12 * * *", "gap": "run"}})

        assert due(admin) == before
        assert admin.execute("select schedule_version from job").fetchone() == (1,)

    def test_an_edit_inside_the_horizon_is_sent_at_once(self, client: Client, admin, lanes):
        job = client.job({"at": iso(T0 + timedelta(days=180))})

        edited = client.patch(f"/v1/jobs/{job['id']}", {"schedule": {"at": iso(T0 + timedelta(seconds=5))}}).json

        assert (edited["state"], edited["next_run_at"]) == ("active", iso(T0 + timedelta(seconds=5)))
        assert [message.scheduled_for for message in lanes.sent] == [T0 + timedelta(seconds=5)]
        assert runs(admin) == [(T0 + timedelta(seconds=5), "queued", 2)]

    def test_a_completed_one_off_keeps_its_past_time_and_gets_a_new_one(self, client: Client, admin):
        job = client.job({"at": iso(T0 + timedelta(seconds=5))})
        admin.execute("update run set state = 'succeeded', wake_at = null")
        client.now = T0 + timedelta(days=1)
        path = f"/v1/jobs/{job['id']}"

        assert client.patch(path, {"tags": {"a": "b"}}).json["state"] == "completed"
        assert client.post(f"{path}/pause").status == 409
        assert client.patch(path, {"paused": True}).status == 409
        assert client.patch(path, {"schedule": {"at": iso(T0)}}).fields == ["schedule.at"]
        again = client.patch(path, {"schedule": {"at": iso(T0 + timedelta(days=2))}}).json
        assert (again["state"], again["next_run_at"]) == ("active", iso(T0 + timedelta(days=2)))

    def test_the_whole_is_checked_again(self, client: Client):
        path = f"/v1/jobs/{client.job(name='a')['id']}"
        client.job(name="b")

        assert client.patch(path, {"schedule": {"cron": "* * * * *"}}).fields == ["schedule"]
        assert client.patch(path, {"shedule": 1}).fields == ["shedule"]
        assert client.patch(path, {"target": "nowhere"}).fields == ["target"]
        assert client.patch(path, {"schedule": None}).fields == ["schedule"]
        taken = client.patch(path, {"name": "b"})
        assert (taken.status, taken.fields) == (409, ["name"])
        assert client.get(path).json["version"] == 1

    def test_an_inline_target_is_merged_member_by_member(self, client: Client):
        job = client.job(target={"http": {"url": "http://127.0.0.1:9/x", "headers": {"X-A": "1"}}})

        edited = client.patch(f"/v1/jobs/{job['id']}", {"target": {"http": {"headers": {"X-B": "2"}}}}).json

        assert edited["target"]["http"]["headers"] == {"X-A": "1", "X-B": "2"}
        assert edited["target"]["http"]["url"] == "http://127.0.0.1:9/x"

    def test_a_job_that_could_not_be_planned_starts_again_with_its_next_edit(self, client: Client, admin):
        job = client.job()
        admin.execute("update job set error = 'zone removed'")
        admin.execute("delete from due")

        edited = client.patch(f"/v1/jobs/{job['id']}", {"tags": {"a": "b"}}).json

        assert edited["error"] is None
        assert len(due(admin)) == 1

    def test_a_job_whose_schedule_is_no_longer_accepted_is_still_shown(self, client: Client, admin):
        job = client.job()
        admin.execute(
            "update job set error = 'zone removed', schedule = %s", ('{"cron":"0 0 * * *","timezone":"No/Where"}',)
        )

        assert client.get(f"/v1/jobs/{job['id']}").json["error"] == "zone removed"
        assert client.get("/v1/jobs").json["items"][0]["next_runs"] == []
        assert client.get(f"/v1/jobs/{job['id']}/upcoming").json == {"description": None, "occurrences": []}
        mended = client.patch(f"/v1/jobs/{job['id']}", {"schedule": {"timezone": "Europe/Paris"}})
        assert (mended.status, mended.json["error"]) == (200, None)


class TestPauseAndResume:
    def test_a_paused_job_is_out_of_every_claims_reach(self, client: Client, admin):
        job = client.job({"every": "1h"})

        paused = client.post(f"/v1/jobs/{job['id']}/pause", {"note": "quiet"}).json

        assert (paused["state"], paused["note"], paused["next_run_at"], paused["version"]) == (
            "paused",
            "quiet",
            None,
            2,
        )
        assert due_texts(admin) == [(T0 + timedelta(hours=1), "infinity")]
        again = client.post(f"/v1/jobs/{job['id']}/pause", {"note": "quiet"}).json
        assert again == paused

    def test_resume_skips_what_was_missed(self, client: Client, admin):
        job = client.job({"every": "1h"})
        client.post(f"/v1/jobs/{job['id']}/pause")
        client.now = T0 + timedelta(hours=5, minutes=30)

        resumed = client.post(f"/v1/jobs/{job['id']}/resume", {"missed": "skip"}).json

        assert (resumed["state"], resumed["next_run_at"]) == ("active", iso(T0 + timedelta(hours=6)))
        assert [row[1] for row in due(admin)] == [T0 + timedelta(hours=6)]
        assert [row[1] for row in runs(admin)] == ["skipped"] * 5

    def test_resume_catches_up_by_the_jobs_policy(self, client: Client, admin, lanes):
        job = client.job({"every": "1h"}, catch_up={"policy": "run_all"})
        client.post(f"/v1/jobs/{job['id']}/pause")
        client.patch(f"/v1/jobs/{job['id']}", {"tags": {"a": "b"}})
        client.now = T0 + timedelta(hours=3, minutes=30)

        client.post(f"/v1/jobs/{job['id']}/resume", {"missed": "catch_up"})

        assert [row[0] for row in runs(admin)] == [T0 + timedelta(hours=n) for n in (1, 2, 3)]
        assert len(lanes.sent) == 3
        assert [row[1] for row in due(admin)] == [T0 + timedelta(hours=4)]

    def test_resume_catches_up_with_what_was_planned_before_the_pause(self, client: Client, admin, lanes):
        """Paused a minute before its time, with its run in the lane already; the worker finds it paused."""
        job = client.job({"at": iso(T0 + timedelta(minutes=1))})
        client.post(f"/v1/jobs/{job['id']}/pause")
        admin.execute("update run set state = 'skipped', reason = 'paused', wake_at = null, finished_at = now()")
        lanes.take()
        client.now = T0 + timedelta(minutes=10)

        resumed = client.post(f"/v1/jobs/{job['id']}/resume", {"missed": "catch_up"}).json

        assert resumed["state"] == "active"
        assert [(row[0], row[1]) for row in runs(admin)] == [(T0 + timedelta(minutes=1), "queued")]
        assert len(lanes.sent) == 1
        assert due(admin) == []

    def test_resume_with_skip_leaves_what_the_pause_skipped(self, client: Client, admin, lanes):
        job = client.job({"at": iso(T0 + timedelta(minutes=1))})
        client.post(f"/v1/jobs/{job['id']}/pause")
        admin.execute("update run set state = 'skipped', reason = 'paused', wake_at = null, finished_at = now()")
        client.now = T0 + timedelta(minutes=10)
        client.post(f"/v1/jobs/{job['id']}/resume")
        assert [row[1] for row in runs(admin)] == ["skipped"]

    def test_runs_planned_before_the_pause_are_not_planned_twice(self, client: Client, admin):
        job = client.job({"every": "30s", "max_runs": 10})
        client.post(f"/v1/jobs/{job['id']}/pause")
        client.now = T0 + timedelta(seconds=31)

        resumed = client.post(f"/v1/jobs/{job['id']}/resume").json

        assert [row[0] for row in runs(admin)] == [T0 + timedelta(seconds=30 * n) for n in range(1, 6)]
        assert admin.execute("select runs_planned from job").fetchone() == (5,)
        assert resumed["next_run_at"] == iso(T0 + timedelta(seconds=60))

    def test_a_catch_up_before_anything_was_missed_plans_nothing_twice(self, client: Client, admin):
        job = client.job({"every": "30s", "max_runs": 10}, catch_up={"policy": "run_all"})
        client.post(f"/v1/jobs/{job['id']}/pause")
        client.now = T0 + timedelta(seconds=31)

        client.post(f"/v1/jobs/{job['id']}/resume", {"missed": "catch_up"})

        assert [row[0] for row in runs(admin)] == [T0 + timedelta(seconds=30 * n) for n in range(1, 6)]
        assert admin.execute("select runs_planned from job").fetchone() == (5,)

    def test_a_one_off_paused_in_the_lane_goes_on_when_its_time_is_still_ahead(self, client: Client, admin):
        job = client.job({"at": iso(T0 + timedelta(seconds=60))})
        path = f"/v1/jobs/{job['id']}"

        assert client.post(f"{path}/pause").json["state"] == "paused"
        client.now = T0 + timedelta(seconds=10)
        assert client.post(f"{path}/resume").json["next_run_at"] == iso(T0 + timedelta(seconds=60))

        client.post(f"{path}/pause")
        admin.execute("update run set state = 'skipped', wake_at = null")
        client.now = T0 + timedelta(seconds=70)
        assert client.post(f"{path}/resume").json["state"] == "completed"
        assert client.post(f"{path}/resume").status == 409

    def test_an_edit_pauses_and_resumes_as_well(self, client: Client, admin):
        job = client.job({"every": "1h"})
        path = f"/v1/jobs/{job['id']}"

        assert client.patch(path, {"paused": True}).json["state"] == "paused"
        assert due_texts(admin)[0][1] == "infinity"
        client.now = T0 + timedelta(hours=2, minutes=1)
        assert client.patch(path, {"paused": False}).json["next_run_at"] == iso(T0 + timedelta(hours=3))

    def test_an_edit_of_a_paused_job_moves_where_it_will_catch_up_from(self, client: Client, admin):
        job = client.job({"every": "1h"}, catch_up={"policy": "run_all"})
        path = f"/v1/jobs/{job['id']}"
        client.post(f"{path}/pause")
        client.now = T0 + timedelta(hours=2, minutes=30)

        assert client.patch(path, {"schedule": {"every": "2h"}}).json["state"] == "paused"

        assert due_texts(admin) == [(T0 + timedelta(hours=4), "infinity")]


class TestDelete:
    def test_a_deleted_job_is_gone(self, client: Client, admin):
        path = f"/v1/jobs/{client.job()['id']}"

        assert client.delete(path).status == 204

        assert due(admin) == []
        for answer in (client.get(path), client.delete(path), client.patch(path, {}), client.post(f"{path}/pause")):
            assert answer.status == 404
        assert client.get("/v1/jobs").json["items"] == []

    def test_a_reply_without_content_has_no_body(self, client: Client):
        answer = client.delete(f"/v1/jobs/{client.job()['id']}")

        assert answer.text == ""


class TestUpcoming:
    def test_ten_by_default_of_the_schedule_alone(self, client: Client):
        job = client.job({"cron": "*/5 * * * * *", "timezone": "Asia/Kolkata"}, paused=True)

        found = client.get(f"/v1/jobs/{job['id']}/upcoming").json["occurrences"]

        assert [one["scheduled_for"] for one in found] == [iso(T0 + timedelta(seconds=5 * n)) for n in range(1, 11)]
        assert found[0]["local"].endswith("+05:30")

    def test_the_schedule_is_described(self, client: Client):
        path = f"/v1/jobs/{client.job({'cron': '30 2 * * 1', 'timezone': 'UTC'})['id']}/upcoming"
        preview = client.post("/v1/schedules/preview", {"schedule": {"every": "90m"}})

        assert client.get(path).json["description"] == "At 02:30 AM, only on Monday"
        assert preview.json["description"] == "Every 1 hour and 30 minutes"
        REPLIES["Preview"].model_validate(preview.json)

    def test_preview_needs_no_job(self, client: Client):
        answer = client.post(
            "/v1/schedules/preview",
            {
                "schedule": {"cron": "30 2 * * *", "timezone": "America/New_York"},
                "after": "2026-03-07T12:00:00.000Z",
                "count": 2,
            },
        )

        REPLIES["Preview"].model_validate(answer.json)
        assert [one["scheduled_for"] for one in answer.json["occurrences"]] == [
            "2026-03-08T07:00:00.000Z",
            "2026-03-09T06:30:00.000Z",
        ]
        assert answer.json["occurrences"][0]["note"]


class TestList:
    def test_filters(self, client: Client):
        client.target("other")
        client.now = T0 + timedelta(milliseconds=1)
        a = client.job(name="alpha", tags={"team": "a", "env": "prod"})["id"]
        client.now = T0 + timedelta(milliseconds=2)
        b = client.job(name="beta_1", tags={"team": "a"}, target="other")["id"]
        client.now = T0 + timedelta(milliseconds=3)
        c = client.job({"at": iso(T0 + timedelta(seconds=30))}, name="betaX1", tags={"odd": "x:y"})["id"]
        client.now = T0 + timedelta(milliseconds=4)
        d = client.job(paused=True)["id"]

        def found(**query) -> list[str]:
            return [job["id"] for job in client.get("/v1/jobs", query=query).json["items"]]

        assert found() == [d, c, b, a]
        assert found(tag="team:a") == [b, a]
        assert found(tag=["team:a", "env:prod"]) == [a]
        assert found(tag="odd:x:y") == [c]
        assert found(name="alpha") == [a]
        assert found(q="BETA") == [c, b]
        assert found(q="a_1") == [b]
        assert found(target="other") == [b]
        assert found(state="active") == [c, b, a]
        assert found(state="paused") == [d]
        assert found(state="completed") == []

    def test_a_one_off_that_has_run_is_listed_as_completed(self, client: Client, admin):
        job = client.job({"at": iso(T0 + timedelta(seconds=30))})["id"]
        admin.execute("update run set state = 'dead', wake_at = null")

        assert [one["id"] for one in client.get("/v1/jobs", query={"state": "completed"}).json["items"]] == [job]
        assert client.get("/v1/jobs", query={"state": "active"}).json["items"] == []

    def test_pages_hold_each_job_once_whatever_is_created_meanwhile(self, client: Client):
        created = [client.job(tags={"batch": "1"})["id"] for _ in range(7)]
        seen: list[str] = []
        cursor = None
        for _ in range(3):
            query = {"tag": "batch:1", "limit": 3, **({"cursor": cursor} if cursor else {})}
            page = client.get("/v1/jobs", query=query).json
            seen += [job["id"] for job in page["items"]]
            cursor = page["next_cursor"]
            client.now += timedelta(milliseconds=1)
            client.job(tags={"batch": "1"})

        assert cursor is None
        assert seen == sorted(created, reverse=True)

    @pytest.mark.parametrize(("letter", "count"), [("x", 250_000), ("\u00fc", 125_000), ('"', 125_000)])
    def test_a_page_of_large_payloads_ends_early_and_goes_on(self, client: Client, letter, count):
        payload = json.dumps(letter * count, ensure_ascii=False)
        raw = f'{{"schedule": {{"every": "1h"}}, "target": "sink", "payload": {payload}}}'
        created = [client.post("/v1/jobs", raw=raw).json["id"] for _ in range(22)]

        pages = [client.get("/v1/jobs", query={"limit": 22})]
        while (cursor := pages[-1].json["next_cursor"]) is not None:
            pages.append(client.get("/v1/jobs", query={"limit": 22, "cursor": cursor}))

        assert len(pages) > 1
        assert all(len(json.dumps(page.text)) < LAMBDA_MAX_RESPONSE_BYTES - 100_000 for page in pages)
        assert [job["id"] for page in pages for job in page.json["items"]] == sorted(created, reverse=True)

    def test_a_cursor_is_good_for_its_own_list_only(self, client: Client, stranger: Client):
        for _ in range(3):
            client.job(tags={"a": "b"})
        cursor = client.get("/v1/jobs", query={"limit": 1}).json["next_cursor"]
        other_letter = "A" if cursor[30] != "A" else "B"
        tampered = cursor[:30] + other_letter + cursor[31:]

        assert client.get("/v1/jobs", query={"limit": 2, "cursor": cursor}).status == 200
        refused = [
            client.get("/v1/jobs", query={"limit": 1, "cursor": tampered}),
            client.get("/v1/jobs", query={"limit": 1, "cursor": cursor + "="}),
            client.get("/v1/jobs", query={"cursor": "AAAA"}),
            client.get("/v1/jobs", query={"cursor": ""}),
            client.get("/v1/jobs", query={"cursor": "ü" * 900}),
            client.get("/v1/jobs", query={"limit": 1, "cursor": cursor, "tag": "a:b"}),
            client.get("/v1/runs", query={"cursor": cursor}),
            client.get("/v1/targets", query={"cursor": cursor}),
            stranger.get("/v1/jobs", query={"limit": 1, "cursor": cursor}),
        ]
        client.now = T0 + timedelta(days=1, seconds=1)
        refused.append(client.get("/v1/jobs", query={"limit": 1, "cursor": cursor}))
        assert [(answer.status, answer.fields) for answer in refused] == [(400, ["cursor"])] * len(refused)


BAD_QUERIES = [
    ("limit=0", "limit"),
    ("limit=201", "limit"),
    ("limit=1e3", "limit"),
    ("limit=99999999999999999999", "limit"),
    ("limit=%D9%A1", "limit"),
    ("limit=1&limit=2", "limit"),
    ("state=running", "state"),
    ("tag=team", "tag"),
    ("tag=a:1&tag=a:2", "tag"),
    ("name=a%00b", "name"),
    ("q=%ff", "query"),
    ("nmae=x", "nmae"),
    ("target=tgt_nonsense", "target"),
    ("&".join(f"tag=a{n}:b" for n in range(60)), "query"),
]


def test_a_bad_query_is_named(client: Client, subtests):
    for query, field in BAD_QUERIES:
        with subtests.test(query[:40]):
            answer = client.get("/v1/jobs", raw_query=query)
            assert (answer.status, answer.fields) == (400, [field])
