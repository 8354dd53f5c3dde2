"""Backfills: every occurrence that has gone by gets one run, and what is due by a schedule is not held up."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hourbell.api.schemas import REPLIES
from hourbell.domain.instants import format_instant
from hourbell.services.reap_runs import reap_runs
from hourbell.store.connection import Database

from tests.integration.api.conftest import Answer, Client
from tests.seeds import T0, RecordingLanes

HOURLY = {"cron": "0 * * * *", "timezone": "UTC"}
EACH_SECOND = {"cron": "* * * * * *", "timezone": "UTC"}


def backfill(client: Client, job: dict[str, Any], start: datetime, end: datetime, **members: Any) -> Answer:
    body = {"from": format_instant(start), "to": format_instant(end), **members}
    return client.post(f"/v1/jobs/{job['id']}/backfill", body)


@pytest.fixture
def scanner(postgres, database_name) -> Iterator[Database]:
    opened = Database(postgres.conninfo(database=database_name, user="hourbell_scanner"))
    yield opened
    opened.close()


def test_a_dry_run_tells_and_changes_nothing(client: Client, admin, lanes: RecordingLanes):
    job = client.job(HOURLY)

    answer = backfill(client, job, T0 - timedelta(hours=3), T0, dry_run=True)

    assert answer.status == 200, answer.text
    REPLIES["Backfill"].model_validate(answer.json)
    assert (answer.json["runs"], answer.json["existing"]) == (3, 0)
    assert [one["scheduled_for"][11:16] for one in answer.json["occurrences"]] == ["09:00", "10:00", "11:00"]
    assert admin.execute("select count(*) from run").fetchone() == (0,)
    assert lanes.sent == []


def test_each_occurrence_gets_one_run_and_those_that_had_one_keep_it(client: Client, admin, lanes: RecordingLanes):
    job = client.job(HOURLY)
    backfill(client, job, T0 - timedelta(hours=2), T0)
    admin.execute("update run set state = 'succeeded', wake_at = null where extract(hour from scheduled_for) = 10")
    lanes.take()

    answer = backfill(client, job, T0 - timedelta(hours=3), T0)

    assert (answer.json["runs"], answer.json["existing"]) == (1, 2)
    assert [one["existing"] for one in answer.json["occurrences"]] == [None, "succeeded", "queued"]
    assert [message.scheduled_for for message in lanes.sent] == [T0 - timedelta(hours=3)]
    run = client.get(f"/v1/runs/{answer.json['occurrences'][0]['run_id']}").json
    assert (run["origin"], run["state"], run["fire_at"]) == ("backfill", "queued", format_instant(T0))
    assert admin.execute("select count(*) from run").fetchone() == (3,)


def test_a_run_that_somebody_else_made_meanwhile_is_left_alone(
    client: Client, admin, lanes: RecordingLanes, monkeypatch
):
    job = client.job(HOURLY)
    backfill(client, job, T0 - timedelta(hours=1), T0)
    lanes.take()
    admin.execute("update run set state = 'succeeded', wake_at = null, reason = 'kept'")
    monkeypatch.setattr("hourbell.store.backfills.find_runs_of_job", lambda *_arguments, **_named: {})

    backfill(client, job, T0 - timedelta(hours=2), T0)

    assert [message.scheduled_for for message in lanes.sent] == [T0 - timedelta(hours=2)]
    assert admin.execute("select state, reason from run order by scheduled_for desc").fetchall() == [
        ("succeeded", "kept"),
        ("queued", None),
    ]


def test_a_paused_and_a_completed_job_can_be_backfilled(client: Client, lanes: RecordingLanes):
    paused = client.job(HOURLY, paused=True)
    assert backfill(client, paused, T0 - timedelta(hours=2), T0).json["runs"] == 2
    ended = client.job({"every": "1h", "anchor": "2027-05-09T00:00:00Z", "end_at": "2027-05-09T13:00:00Z"})
    client.now = T0 + timedelta(hours=2)
    assert backfill(client, ended, T0 - timedelta(hours=2), T0).json["runs"] == 2
    assert len(lanes.sent) >= 4


@pytest.mark.parametrize(
    ("start", "end", "field"),
    [
        (-timedelta(hours=1), timedelta(seconds=1), "to"),
        (timedelta(0), -timedelta(hours=1), "to"),
        (-timedelta(hours=1), -timedelta(hours=1), "to"),
        (-timedelta(seconds=10_001), timedelta(0), "to"),
    ],
    ids=["future", "upside down", "empty", "too many"],
)
def test_a_span_that_cannot_be_is_refused_by_its_field(client: Client, start, end, field):
    assert backfill(client, client.job(EACH_SECOND), T0 + start, T0 + end).fields == [field]


def test_missing_and_senseless_bounds_are_named(client: Client):
    job = client.job(HOURLY)
    assert client.post(f"/v1/jobs/{job['id']}/backfill", {}).fields == ["from", "to"]
    assert client.post(f"/v1/jobs/{job['id']}/backfill", {"from": "noon", "to": format_instant(T0)}).fields == ["from"]


def test_a_one_off_is_refused_in_so_many_words(client: Client):
    answer = backfill(client, client.job({"at": "2027-06-01T00:00:00Z"}), T0 - timedelta(hours=1), T0)
    assert answer.status == 409
    assert "one-off" in answer.json["detail"]


def test_runs_that_may_not_overlap_are_not_backfilled_side_by_side(client: Client):
    answer = backfill(client, client.job(HOURLY, overlap="skip"), T0 - timedelta(hours=1), T0)
    assert answer.status == 409
    assert "overlap" in answer.json["detail"]


def test_another_tenants_job_is_not_there(client: Client, stranger: Client):
    assert backfill(stranger, client.job(HOURLY), T0 - timedelta(hours=1), T0).status == 404


def test_ten_thousand_are_spread_and_the_reaper_sends_what_is_beyond_the_first(
    client: Client, admin, lanes: RecordingLanes, scanner: Database
):
    job = client.job(EACH_SECOND, paused=True)

    answer = backfill(client, job, T0 - timedelta(seconds=10_000), T0)

    assert answer.json["runs"] == 10_000
    assert len(lanes.sent) == 500
    for minute in range(1, 8):
        reap_runs(scanner, lanes, time_left=lambda: True, now=T0 + timedelta(minutes=minute), batch=5_000)
    starts = {message.scheduled_for: message.ready_at for message in lanes.sent}
    assert len(starts) == 10_000
    in_a_second = [starts[at] for at in starts if T0 + timedelta(minutes=3) <= starts[at] < T0 + timedelta(minutes=4)]
    assert len(in_a_second) == 60 * 50
    assert admin.execute("select count(*) from run where reason = 'backfill'").fetchone() == (0,)


def test_scheduled_runs_of_a_slow_target_do_not_wait_for_a_backfill(
    client: Client, admin, lanes: RecordingLanes, scanner: Database
):
    client.target("slow", rate_per_second=1)
    job = client.job(HOURLY, target="slow", paused=True)

    backfill(client, job, T0 - timedelta(hours=2_000), T0)

    assert len(lanes.sent) == 30  # the share of a minute
    gaps = [later.ready_at - one.ready_at for one, later in pairwise(lanes.sent)]
    assert min(gaps) >= timedelta(seconds=1)
    for minute in (1, 3, 9):  # the last look is late, and finds many whose turn has come
        reap_runs(scanner, lanes, time_left=lambda: True, now=T0 + timedelta(minutes=minute))
    # Nobody executes them here, so they are sent again: each once.
    starts = sorted({message.scheduled_for: message.ready_at for message in lanes.sent}.values())
    assert min(later - one for one, later in pairwise(starts)) >= timedelta(seconds=1)
    client.now = T0 + timedelta(minutes=10)
    lanes.take()
    client.post(f"/v1/jobs/{job['id']}/trigger")
    assert lanes.sent[0].ready_at - client.now < timedelta(minutes=2)


def test_a_backfill_waits_while_scheduled_runs_have_all_the_moments(
    client: Client, admin, lanes: RecordingLanes, scanner: Database
):
    client.target("slow", rate_per_second=1)
    job = client.job(HOURLY, target="slow", paused=True)
    admin.execute("update target set tat = %s where name = 'slow'", (T0 + timedelta(hours=1),))

    backfill(client, job, T0 - timedelta(hours=5), T0)
    assert lanes.sent == []
    for minute in range(1, 10):
        reap_runs(scanner, lanes, time_left=lambda: True, now=T0 + timedelta(minutes=minute))
    assert lanes.sent == []

    admin.execute("update target set tat = %s where name = 'slow'", (T0 + timedelta(minutes=9),))
    reap_runs(scanner, lanes, time_left=lambda: True, now=T0 + timedelta(minutes=11))
    assert len(lanes.sent) == 5
