"""Runs over the API: what is shown, and a run at once."""

from __future__ import annotations

from datetime import timedelta

from hourbell.api.schemas import REPLIES
from hourbell.domain.ids import decode
from hourbell.domain.instants import format_instant
from hourbell.domain.run_state import Lane

from tests.integration.api.conftest import Client
from tests.seeds import T0


def seconds(count: float):
    return T0 + timedelta(seconds=count)


def test_a_run_is_shown_with_its_attempts(client: Client, admin):
    job = client.job({"at": format_instant(seconds(30))})
    admin.execute(
        "update run set state = 'retrying', attempt = 2, started_at = %s, reason = 'failed', error = 'x', "
        "progress = '{\"n\": 1.50}'",
        (seconds(30.042),),
    )
    admin.execute(
        "insert into attempt "
        "(run_id, scheduled_for, number, started_at, finished_at, outcome, status_code, error, duration_ms) "
        "select run_id, scheduled_for, n, %(a)s, %(b)s, 'failed', 503, 'no', 12 from run, generate_series(1, 2) as n",
        {"a": seconds(30.042), "b": seconds(30.054)},
    )

    client.now = seconds(31)
    listed = client.get(f"/v1/jobs/{job['id']}/runs").json["items"]
    answer = client.get(f"/v1/runs/{listed[0]['id']}")

    run = answer.json
    REPLIES["Run"].model_validate(run)
    assert listed == [run]
    assert (run["state"], run["attempt"], run["lateness_ms"], run["job_id"]) == ("retrying", 2, 42, job["id"])
    assert (run["scheduled_for"], run["fire_at"]) == (format_instant(seconds(30)),) * 2
    assert [attempt["number"] for attempt in run["attempts"]] == [1, 2]
    assert run["attempts"][0]["status_code"] == 503
    assert '"progress":{"n": 1.50}' in answer.text
    assert answer.headers["etag"].startswith('"')


def test_runs_of_a_job_are_newest_first_page_by_page(client: Client):
    job = client.job({"every": "10s"})
    client.job({"every": "10s"})
    client.now = seconds(121)
    seen: list[str] = []
    query: dict = {"limit": 5}
    while True:
        page = client.get(f"/v1/jobs/{job['id']}/runs", query=query).json
        seen += [run["scheduled_for"] for run in page["items"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]

    assert seen == [format_instant(seconds(10 * n)) for n in range(12, 0, -1)]


def test_pages_of_runs_hold_each_once_also_within_one_millisecond(client: Client):
    for _ in range(5):
        client.job({"every": "40s", "anchor": format_instant(T0)})
    client.now = seconds(121)
    seen: list[tuple[str, str]] = []
    query: dict = {"limit": 2}
    while True:
        page = client.get("/v1/runs", query=query).json
        seen += [(run["scheduled_for"], run["job_id"]) for run in page["items"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]

    assert len(seen) == len(set(seen)) == 15
    assert [at for at, _ in seen] == sorted((at for at, _ in seen), reverse=True)


def test_filters(client: Client, admin):
    client.target("other")
    a = client.job({"every": "50s"})["id"]
    b = client.job({"every": "50s"}, target="other")["id"]
    admin.execute(
        "update run set state = 'dead', wake_at = null where job_id = %s and scheduled_for = %s",
        (decode("job", a), seconds(50)),
    )

    client.now = seconds(101)

    def found(**query) -> list[tuple[str, str]]:
        query = {name.rstrip("_"): value for name, value in query.items()}
        return sorted(
            (run["job_id"], run["scheduled_for"]) for run in client.get("/v1/runs", query=query).json["items"]
        )

    first, second = format_instant(seconds(50)), format_instant(seconds(100))
    assert found() == sorted([(a, first), (a, second), (b, first), (b, second)])
    assert found(job=a) == [(a, first), (a, second)]
    assert found(state="dead") == [(a, first)]
    assert found(target="other", to=second) == [(b, first)]
    assert found(from_=second, job=b) == [(b, second)]
    assert found(target=client.get("/v1/targets", query={"name": "other"}).json["items"][0]["id"], state="dead") == []


class TestPlannedAhead:
    def test_is_no_history(self, client: Client):
        path = f"/v1/jobs/{client.job({'every': '10s'})['id']}/runs"

        def listed(path: str, **query) -> list[str]:
            return [run["scheduled_for"] for run in client.get(path, query=query).json["items"]]

        planned = [format_instant(seconds(10 * n)) for n in range(12, 0, -1)]
        client.now = seconds(25)
        for lists in (path, "/v1/runs"):
            assert listed(lists) == planned[10:]
            assert listed(lists, state="queued") == planned
            assert listed(lists, state="dead") == []

    def test_pages_of_history_are_exact(self, client: Client):
        path = f"/v1/jobs/{client.job({'every': '1s'})['id']}/runs"
        client.now = seconds(7)

        first = client.get(path, query={"limit": 5}).json
        second = client.get(path, query={"limit": 5, "cursor": first["next_cursor"]}).json

        shown = [run["scheduled_for"] for page in (first, second) for run in page["items"]]
        assert shown == [format_instant(seconds(n)) for n in range(7, 0, -1)]
        assert second["next_cursor"] is None

    def test_what_ended_before_its_time_or_was_asked_for_is_history(self, client: Client, admin):
        client.target("paced", rate_per_second=0.01)
        job = client.job({"every": "50s"})
        admin.execute("update run set state = 'cancelled', wake_at = null where scheduled_for = %s", (seconds(100),))
        paced = client.job({"every": "1h"}, target="paced")
        for _ in range(2):
            client.post(f"/v1/jobs/{paced['id']}/trigger")

        assert [run["state"] for run in client.get(f"/v1/jobs/{job['id']}/runs").json["items"]] == ["cancelled"]
        assert len(client.get(f"/v1/jobs/{paced['id']}/runs").json["items"]) == 2

    def test_a_retry_that_waits_is_history(self, client: Client, admin):
        job = client.job({"every": "100s"})
        admin.execute("update run set state = 'queued', attempt = 1, fire_at = %s", (seconds(500),))

        assert len(client.get(f"/v1/jobs/{job['id']}/runs").json["items"]) == 1

    def test_the_state_is_checked(self, client: Client):
        answer = client.get(f"/v1/jobs/{client.job()['id']}/runs", query={"state": "planned"})

        assert (answer.status, answer.fields) == (400, ["state"])


class TestTrigger:
    def test_a_run_at_once_with_a_payload_of_its_own(self, client: Client, admin, lanes):
        job = client.job({"every": "1h"}, timeout="5m")
        client.now = seconds(7.123456)

        answer = client.post(f"/v1/jobs/{job['id']}/trigger", raw='{"payload": {"now": 1.50}}')

        run = answer.json
        REPLIES["Run"].model_validate(run)
        assert (answer.status, run["origin"], run["state"], run["scheduled_for"]) == (
            202,
            "trigger",
            "queued",
            format_instant(seconds(7.123)),
        )
        assert admin.execute("select payload, wake_at from run").fetchall() == [('{"now":1.50}', seconds(37.123))]
        (message,) = lanes.sent
        assert (message.ready_at, message.lane) == (seconds(7.123), Lane.SOLO)
        assert client.get(f"/v1/runs/{run['id']}").json == run

    def test_without_a_payload_it_is_the_jobs_own(self, client: Client, admin):
        path = f"/v1/jobs/{client.job(payload=7)['id']}/trigger"

        for options in ({}, {"body": {}}, {"raw": '{"payload": null}'}):
            assert client.post(path, **options).status == 202

        assert admin.execute("select payload from run order by scheduled_for").fetchall() == [
            (None,),
            (None,),
            ("null",),
        ]

    def test_many_in_one_millisecond_get_one_each(self, client: Client, admin, lanes):
        path = f"/v1/jobs/{client.job()['id']}/trigger"

        runs = [client.post(path).json for _ in range(4)]

        assert [run["scheduled_for"] for run in runs] == [format_instant(seconds(n / 1000)) for n in range(4)]
        assert len({run["id"] for run in runs}) == len(lanes.sent) == 4

    def test_also_while_paused_and_after_completion(self, client: Client, admin):
        path = f"/v1/jobs/{client.job({'at': format_instant(seconds(5))})['id']}"
        admin.execute("update run set state = 'succeeded', wake_at = null")
        other = f"/v1/jobs/{client.job(paused=True)['id']}"

        assert client.post(f"{path}/trigger").status == 202
        assert client.post(f"{other}/trigger").status == 202

    def test_a_rate_limited_target_keeps_its_pace(self, client: Client, admin, lanes):
        client.target("slow", rate_per_second=0.002)
        path = f"/v1/jobs/{client.job(target='slow')['id']}/trigger"

        runs = [client.post(path).json for _ in range(4)]

        starts = [seconds(500 * n) for n in range(4)]
        assert [run["fire_at"] for run in runs] == [format_instant(start) for start in starts]
        # A lane cannot delay for a thousand seconds: the reaper sends those, a little before their time.
        assert [message.ready_at for message in lanes.sent] == starts[:2]
        early, grace = timedelta(seconds=90), timedelta(seconds=30)
        assert [row[0] for row in admin.execute("select wake_at from run order by fire_at").fetchall()] == [
            starts[0] + grace,
            starts[1] + grace,
            starts[2] - early,
            starts[3] - early,
        ]

    def test_a_triggered_run_takes_no_place_in_the_schedule(self, client: Client, admin):
        job = client.job({"every": "1h", "max_runs": 3})
        before = admin.execute("select * from due").fetchall()

        client.post(f"/v1/jobs/{job['id']}/trigger")

        assert admin.execute("select * from due").fetchall() == before
        assert client.get(f"/v1/jobs/{job['id']}").json["next_runs"] == job["next_runs"]
