"""An occurrence whose time has come and whose moment in the window has not: it fires, whatever happens to its job."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hourbell.domain.instants import format_instant
from hourbell.services.claim_due import claim_shards
from hourbell.store.connection import Database

from tests.integration.api.conftest import HORIZON, Client
from tests.seeds import T0

NOON = T0
TOMORROW = NOON + timedelta(days=1)
DAILY = {"cron": "0 12 * * *", "timezone": "UTC"}
WINDOW = "PT12H"


def due(admin) -> list[tuple]:
    return admin.execute("select scheduled_for, next_run_at from due").fetchall()


def waiting(client: Client, admin, schedule: dict[str, Any], **members: Any) -> str:
    """The path of a job whose moment is more than an hour after noon; it is noon and half a minute now."""
    client.now = NOON - timedelta(minutes=5)
    while True:
        path = f"/v1/jobs/{client.job(schedule, window=WINDOW, **members)['id']}"
        if due(admin)[0][1] > NOON + timedelta(hours=1):
            client.now = NOON + timedelta(seconds=30)
            return path
        client.delete(path)


def planned(conninfo: str, now: datetime) -> list[datetime]:
    """What a scan plans now."""
    database = Database(conninfo)
    claim = database.run(
        lambda connection: claim_shards(
            connection, first_shard=0, last_shard=127, now=now, horizon=HORIZON, per_shard=100
        )
    )
    database.close()
    return [message.scheduled_for for message in claim.messages]


@pytest.mark.parametrize("again", ["resume", "edit"])
def test_a_pause_of_ten_seconds_does_not_cost_the_days_run(client: Client, admin, conninfo, again):
    path = waiting(client, admin, DAILY)
    ((_, moment),) = due(admin)

    client.post(f"{path}/pause")
    client.now += timedelta(seconds=10)
    if again == "edit":
        client.patch(path, {"paused": False})
    else:
        client.post(f"{path}/resume", {"missed": "skip"})

    assert client.get(path).json["next_run_at"] == format_instant(NOON)
    assert due(admin) == [(NOON, moment)]
    assert planned(conninfo, moment) == [NOON]


def test_a_pause_past_the_moment_skips_it(client: Client, admin):
    path = waiting(client, admin, DAILY)
    ((_, moment),) = due(admin)

    client.post(f"{path}/pause")
    client.now = moment
    client.post(f"{path}/resume", {"missed": "skip"})

    assert [at for at, _ in due(admin)] == [TOMORROW]


def test_a_one_off_that_was_paused_in_its_window_is_not_lost(client: Client, admin):
    path = waiting(client, admin, {"at": format_instant(NOON)})

    client.post(f"{path}/pause")
    answer = client.post(f"{path}/resume", {"missed": "skip"})

    assert (answer.json["state"], answer.json["next_run_at"]) == ("active", format_instant(NOON))
    assert [at for at, _ in due(admin)] == [NOON]


@pytest.mark.parametrize("catch_up", ["run_once", "skip"])
def test_a_shorter_window_does_not_cost_the_days_run(client: Client, admin, catch_up):
    path = waiting(client, admin, DAILY, catch_up={"policy": catch_up})
    client.now = NOON + timedelta(minutes=30)

    assert client.patch(path, {"window": None}).status == 200

    # its moment would have been noon: it was not missed, it fires now
    assert admin.execute("select scheduled_for, state from run").fetchall() == [(NOON, "queued")]
    assert [at for at, _ in due(admin)] == [TOMORROW]


def test_a_changed_schedule_that_has_the_same_occurrence_keeps_it(client: Client, admin):
    path = waiting(client, admin, DAILY)
    ((_, moment),) = due(admin)

    client.patch(path, {"schedule": {"exclude": ["2027-12-25"]}})
    assert due(admin) == [(NOON, moment)]

    client.patch(path, {"schedule": {"cron": "0 13 * * *"}})
    assert [at for at, _ in due(admin)] == [NOON + timedelta(hours=1)]


def test_an_occurrence_that_was_planned_is_not_counted_twice(client: Client, admin, conninfo):
    path = waiting(client, admin, {**DAILY, "max_runs": 2})
    ((_, moment),) = due(admin)
    client.now = moment - timedelta(seconds=60)
    assert planned(conninfo, client.now) == [NOON]

    client.post(f"{path}/pause")
    client.post(f"{path}/resume", {"missed": "skip"})

    assert admin.execute("select runs_planned from job where state <> 'deleted'").fetchall() == [(1,)]
    assert [at for at, _ in due(admin)] == [TOMORROW]
