"""``skip-next``: one occurrence is taken out, wherever it stands, and nothing else changes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hourbell.api.schemas import REPLIES
from hourbell.domain.ids import decode
from hourbell.domain.instants import format_instant

from tests.integration.api import conftest
from tests.integration.api.conftest import HORIZON, Client
from tests.seeds import T0


def seconds(count: float):
    return T0 + timedelta(seconds=count)


def iso(count: float) -> str:
    return format_instant(seconds(count))


def runs(admin) -> list[tuple]:
    return admin.execute("select scheduled_for, state, reason from run order by scheduled_for").fetchall()


def fired(admin) -> list:
    """What is planned to fire."""
    return [at for at, state, _ in runs(admin) if state == "queued"]


def scan(client: Client, until: float) -> None:
    """A scan at the moment from which the horizon reaches ``until`` seconds."""
    conftest.scan(client, seconds(until) - HORIZON)


def test_one_that_is_only_in_the_hot_table_is_recorded_and_the_row_moves_on(client: Client, admin):
    job = client.job({"every": "1h"})

    answer = client.post(f"/v1/jobs/{job['id']}/skip-next")

    assert answer.status == 200
    REPLIES["Job"].model_validate(answer.json)
    assert answer.json["next_runs"] == [iso(3600 * n) for n in range(2, 7)]
    assert answer.json["version"] == 2
    assert answer.headers["etag"] == '"2"'
    assert runs(admin) == [(seconds(3600), "skipped", "skipped_by_user")]
    assert admin.execute("select scheduled_for, next_run_at from due").fetchall() == [(seconds(7200), seconds(7200))]
    (run,) = client.get(f"/v1/jobs/{job['id']}/runs").json["items"]
    REPLIES["Run"].model_validate(run)
    assert (run["state"], run["reason"], run["attempts"]) == ("skipped", "skipped_by_user", [])
    assert run["finished_at"] == iso(0)


def test_one_that_waits_in_a_lane_is_skipped_at_once(client: Client, admin, lanes):
    job = client.job({"every": "50s"})
    before = admin.execute("select * from due").fetchall()
    lanes.take()

    answer = client.post(f"/v1/jobs/{job['id']}/skip-next", {})

    assert answer.json["next_runs"] == [iso(50 * n) for n in range(2, 7)]
    assert runs(admin) == [(seconds(50), "skipped", "skipped_by_user"), (seconds(100), "queued", None)]
    assert admin.execute("select wake_at from run where state = 'skipped'").fetchall() == [(None,)]
    assert admin.execute("select * from due").fetchall() == before
    assert lanes.take() == []


def test_called_again_it_takes_out_the_one_after(client: Client, admin):
    job = client.job({"every": "50s"})

    for n in range(1, 5):
        answer = client.post(f"/v1/jobs/{job['id']}/skip-next")
        assert answer.json["next_run_at"] == iso(50 * (n + 1))
        assert answer.json == client.get(f"/v1/jobs/{job['id']}").json
    upcoming = client.get(f"/v1/jobs/{job['id']}/upcoming", query={"count": 3}).json["occurrences"]
    scan(client, 300)

    assert [at for at, state, _ in runs(admin) if state == "skipped"] == [seconds(50 * n) for n in range(1, 5)]
    assert fired(admin) == [seconds(250), seconds(300)]
    assert [each["scheduled_for"] for each in upcoming] == [iso(250), iso(300), iso(350)]


def test_what_comes_within_the_horizon_by_it_is_sent_at_once(client: Client, admin, lanes):
    job = client.job({"every": "1h"})
    client.now = seconds(3600 - 119)
    client.patch(f"/v1/jobs/{job['id']}", {"schedule": {"every": "100s", "anchor": iso(3600)}})
    admin.execute("delete from run")
    admin.execute("update due set scheduled_for = %(at)s, next_run_at = %(at)s", {"at": seconds(3500)})
    lanes.take()

    client.post(f"/v1/jobs/{job['id']}/skip-next")

    assert fired(admin) == [seconds(3600)]
    assert [message.scheduled_for for message in lanes.take()] == [seconds(3600)]


class TestMaxRuns:
    def test_what_was_taken_out_of_a_lane_is_not_counted(self, client: Client, admin):
        job = client.job({"every": "50s", "max_runs": 3})
        client.post(f"/v1/jobs/{job['id']}/skip-next")

        assert client.get(f"/v1/jobs/{job['id']}").json["next_runs"] == [iso(100), iso(150), iso(200)]
        scan(client, 300)
        assert fired(admin) == [seconds(100), seconds(150), seconds(200)]

    def test_nor_what_was_only_in_the_hot_table(self, client: Client, admin):
        job = client.job({"every": "1h", "max_runs": 2})
        client.post(f"/v1/jobs/{job['id']}/skip-next")
        for hour in range(2, 6):
            scan(client, 3600 * hour)

        assert fired(admin) == [seconds(7200), seconds(10800)]

    def test_it_makes_room_when_all_are_planned(self, client: Client, admin):
        job = client.job({"every": "50s", "max_runs": 2})
        assert admin.execute("select state from job").fetchall() == [("completed",)]

        answer = client.post(f"/v1/jobs/{job['id']}/skip-next")

        assert answer.json["next_runs"] == [iso(100), iso(150)]
        scan(client, 300)
        assert fired(admin) == [seconds(100), seconds(150)]
        assert admin.execute("select state, runs_planned from job").fetchall() == [("completed", 2)]

    @pytest.mark.parametrize("again", ["resume", "edit"])
    def test_a_job_that_is_placed_anew_passes_over_it_uncounted(self, client: Client, admin, again):
        job = client.job({"every": "50s", "max_runs": 4})
        path = f"/v1/jobs/{job['id']}"
        for _ in range(2):
            client.post(f"{path}/skip-next")
        if again == "edit":
            client.patch(path, {"schedule": {"end_at": iso(10_000)}})
        else:
            client.post(f"{path}/pause")
            client.post(f"{path}/resume")

        assert client.get(path).json["next_runs"] == [iso(150), iso(200), iso(250), iso(300)]
        for until in (200, 300, 400):
            scan(client, until)
        assert fired(admin) == [seconds(150), seconds(200), seconds(250), seconds(300)]


def test_a_one_off_is_completed_by_it(client: Client, admin):
    for at in (60, 6000):
        path = f"/v1/jobs/{client.job({'at': iso(at)})['id']}"
        answer = client.post(f"{path}/skip-next")
        assert (answer.status, answer.json["state"], answer.json["next_runs"]) == (200, "completed", [])
        assert client.post(f"{path}/skip-next").status == 409

    assert {state for _, state, _ in runs(admin)} == {"skipped"}
    assert admin.execute("select * from due").fetchall() == []


def test_the_last_occurrence_ends_the_job(client: Client):
    path = f"/v1/jobs/{client.job({'every': '1h', 'end_at': iso(3600)})['id']}"

    assert client.post(f"{path}/skip-next").json["state"] == "completed"


def test_a_window_is_skipped_with_its_occurrence(client: Client, admin):
    job = client.job({"cron": "0 13 * * *", "timezone": "UTC"}, window="30m")
    client.post(f"/v1/jobs/{job['id']}/skip-next")

    (scheduled_for, fire_at) = admin.execute("select scheduled_for, fire_at from run").fetchone()
    assert scheduled_for == seconds(3600)
    assert timedelta(0) <= fire_at - scheduled_for < timedelta(minutes=30)


def test_a_started_run_is_not_the_next(client: Client, admin):
    job = client.job({"every": "50s"})
    admin.execute(
        "update run set state = 'running', lease_token = gen_random_uuid(), attempt = 1 where scheduled_for = %s",
        (seconds(50),),
    )

    client.post(f"/v1/jobs/{job['id']}/skip-next")

    assert [state for _, state, _ in runs(admin)] == ["running", "skipped"]


def test_an_overdue_occurrence_that_nobody_has_planned_is_the_next(client: Client, admin):
    job = client.job({"every": "1h"})
    client.now = seconds(3601)
    assert client.get(f"/v1/jobs/{job['id']}").json["next_run_at"] == iso(3600)

    answer = client.post(f"/v1/jobs/{job['id']}/skip-next")

    assert answer.json["next_run_at"] == iso(7200)
    assert runs(admin) == [(seconds(3600), "skipped", "skipped_by_user")]


def test_a_triggered_run_is_left_alone(client: Client, admin):
    job = client.job({"every": "1h"})
    client.post(f"/v1/jobs/{job['id']}/trigger")
    client.post(f"/v1/jobs/{job['id']}/skip-next")

    assert [state for _, state, _ in runs(admin)] == ["queued", "skipped"]


def test_without_a_next_occurrence_it_is_refused(client: Client, stranger: Client, admin):
    paused = client.job(paused=True)
    ended = client.job({"at": iso(10)})
    admin.execute("update run set state = 'succeeded', wake_at = null")
    broken = client.job()
    admin.execute("delete from due where job_id = %s", (decode("job", broken["id"]),))

    for job in (paused, ended, broken):
        answer = client.post(f"/v1/jobs/{job['id']}/skip-next")
        assert (answer.status, answer.fields) == (409, [])
    assert stranger.post(f"/v1/jobs/{broken['id']}/skip-next").status == 404
    assert admin.execute("select count(*) from run where state = 'skipped'").fetchone() == (0,)


def test_its_precondition_and_body_are_checked(client: Client, admin):
    path = f"/v1/jobs/{client.job()['id']}/skip-next"

    assert client.post(path, headers={"If-Match": '"7"'}).status == 412
    assert client.post(path, {"count": 2}).fields == ["count"]
    assert runs(admin) == []


def test_no_more_than_a_thousand_ahead(client: Client, admin):
    path = f"/v1/jobs/{client.job()['id']}/skip-next"
    admin.execute(
        "update job set skipped = array(select %s::timestamptz + n * interval '1 day' from generate_series(1, 1000) n)",
        (T0,),
    )
    assert client.post(path).status == 409

    client.now = seconds(86_400)
    assert client.post(path).status == 200
    assert admin.execute("select cardinality(skipped) from job").fetchone() == (1000,)
