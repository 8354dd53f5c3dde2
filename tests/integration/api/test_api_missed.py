"""What was not run is named: the stretches that catch-up left behind."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hourbell.api.schemas import REPLIES
from hourbell.domain.ids import decode
from hourbell.domain.instants import format_instant

from tests.integration.api.conftest import Client, scan
from tests.seeds import T0


def hours(count: float) -> str:
    return format_instant(T0 + timedelta(hours=count))


def stretch(first: float, last: float, occurrences: int, recorded: float, reason: str = "missed") -> dict:
    return {
        "first_scheduled_for": hours(first),
        "last_scheduled_for": hours(last),
        "occurrences": occurrences,
        "reason": reason,
        "recorded_at": hours(recorded),
    }


def test_outages_are_listed_latest_first_also_of_one_occurrence(client: Client):
    path = f"/v1/jobs/{client.job({'every': '1h'})['id']}/missed"
    assert client.get(path).json == {"items": [], "next_cursor": None}
    for now in (4.5, 6.5):
        client.now = T0 + timedelta(hours=now)
        scan(client, client.now)

    answer = client.get(path)

    assert answer.json["items"] == [stretch(5, 5, 1, 6.5), stretch(1, 3, 3, 4.5)]
    for item in answer.json["items"]:
        REPLIES["Missed"].model_validate(item)


def test_a_pause_that_is_caught_up_with_names_what_the_policy_left_out(client: Client):
    job = client.job({"every": "1h"}, catch_up={"policy": "run_all", "within": "150m"})
    client.post(f"/v1/jobs/{job['id']}/pause")
    client.now = T0 + timedelta(hours=10.2)
    client.post(f"/v1/jobs/{job['id']}/resume", {"missed": "catch_up"})

    assert client.get(f"/v1/jobs/{job['id']}/missed").json["items"] == [stretch(1, 7, 7, 10.2)]
    ran = client.get(f"/v1/jobs/{job['id']}/runs").json["items"]
    assert [run["scheduled_for"] for run in ran if run["state"] == "queued"] == [hours(10), hours(9), hours(8)]
    left_out = [(run["scheduled_for"], run["reason"]) for run in ran if run["state"] == "skipped"]
    assert left_out == [(hours(n), "missed") for n in range(7, 0, -1)]


@pytest.mark.parametrize("by_edit", [False, True], ids=["resume", "edit"])
def test_a_pause_that_is_not_caught_up_with_names_all_that_it_left_out(client: Client, by_edit: bool):
    job = client.job({"every": "1h"})
    path = f"/v1/jobs/{job['id']}"
    client.post(f"{path}/pause")
    client.now = T0 + timedelta(hours=3.5)
    if by_edit:
        client.patch(path, {"paused": False})
    else:
        client.post(f"{path}/resume")

    assert client.get(f"{path}/missed").json["items"] == [stretch(1, 3, 3, 3.5, "paused")]
    ran = client.get(f"{path}/runs").json["items"]
    assert [(run["scheduled_for"], run["state"], run["reason"]) for run in ran] == [
        (hours(n), "skipped", "paused") for n in (3, 2, 1)
    ]
    assert client.get(path).json["next_run_at"] == hours(4)


def test_a_pause_without_an_occurrence_leaves_nothing_out(client: Client):
    path = f"/v1/jobs/{client.job({'every': '1h'})['id']}"
    client.post(f"{path}/pause")
    client.now = T0 + timedelta(hours=0.5)
    client.post(f"{path}/resume")

    assert client.get(f"{path}/missed").json["items"] == []


def test_a_one_off_whose_time_passed_in_a_pause_is_on_record(client: Client):
    path = f"/v1/jobs/{client.job({'at': hours(1)})['id']}"
    client.post(f"{path}/pause")
    client.now = T0 + timedelta(hours=2)

    assert client.post(f"{path}/resume").json["state"] == "completed"
    assert client.get(f"{path}/missed").json["items"] == [stretch(1, 1, 1, 2, "paused")]


def test_pages_hold_each_once(client: Client, admin):
    job = client.job()
    admin.execute(
        "insert into missed select %s, %s::timestamptz + n * interval '1 day', %s::timestamptz + n * interval '1 day', "
        "%s, 1, 'missed', now() from generate_series(1, 7) n",
        (decode("job", job["id"]), T0, T0, client.tenant_id),
    )
    query: dict = {"limit": 3}
    seen: list[str] = []
    while True:
        page = client.get(f"/v1/jobs/{job['id']}/missed", query=query).json
        seen += [item["first_scheduled_for"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]

    assert seen == [hours(24 * n) for n in range(7, 0, -1)]


def test_another_tenants_job_is_not_there(client: Client, stranger: Client):
    assert stranger.get(f"/v1/jobs/{client.job()['id']}/missed").status == 404
