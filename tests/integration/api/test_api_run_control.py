"""Runs in the hands of their targets and owners, over the API."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from hourbell.api.schemas import REPLIES
from hourbell.domain.instants import format_instant

from tests.integration.api.conftest import Client
from tests.seeds import T0


def triggered(client: Client) -> str:
    job = client.job({"every": "1h"})
    return client.post(f"/v1/jobs/{job['id']}/trigger").json["id"]


def running(client: Client, admin: Any) -> tuple[str, str]:
    """A run that somebody executes: its id and its lease token."""
    run = triggered(client)
    token: UUID = uuid4()
    admin.execute(
        "update run set state = 'running', attempt = 1, lease_token = %s, lease_expires_at = %s, wake_at = %s "
        "where origin = 'trigger'",
        (token, T0 + timedelta(minutes=1), T0 + timedelta(minutes=1)),
    )
    return run, str(token)


def test_a_heartbeat_extends_the_lease(client: Client, admin):
    run, token = running(client, admin)
    answer = client.post(f"/v1/runs/{run}/heartbeat", {"lease_token": token, "progress": {"done": 1.50}})
    assert answer.status == 200
    REPLIES["Lease"].model_validate(answer.json)
    assert client.get(f"/v1/runs/{run}").json["progress"] == {"done": 1.5}


def test_a_completion_ends_the_run_and_spends_the_token(client: Client, admin):
    run, token = running(client, admin)
    done = client.post(f"/v1/runs/{run}/complete", {"lease_token": token, "result": {"ok": 1}})
    assert (done.status, done.json["state"], done.json["result"]) == (200, "succeeded", {"ok": 1})
    again = client.post(f"/v1/runs/{run}/complete", {"lease_token": token})
    assert again.status == 409
    assert again.json["type"].endswith("lease-lost")


def test_a_failure_goes_by_the_retry_policy(client: Client, admin):
    run, token = running(client, admin)
    failed = client.post(f"/v1/runs/{run}/fail", {"lease_token": token, "error": "disk full", "retryable": False})
    assert (failed.status, failed.json["state"], failed.json["error"]) == (200, "dead", "disk full")


@pytest.mark.parametrize("act", ["heartbeat", "complete", "fail"])
def test_a_run_that_nobody_has_started_cannot_be_ended(client: Client, act: str):
    answer = client.post(f"/v1/runs/{triggered(client)}/{act}", {"lease_token": str(uuid4())})
    assert (answer.status, answer.json["type"]) == (409, "urn:hourbell:problem:lease-lost")


@pytest.mark.parametrize("act", ["heartbeat", "complete", "fail"])
def test_a_wrong_token_is_409(client: Client, admin, act: str):
    run, _ = running(client, admin)
    answer = client.post(f"/v1/runs/{run}/{act}", {"lease_token": str(uuid4())})
    assert answer.status == 409
    assert answer.json["type"].endswith("lease-lost")


@pytest.mark.parametrize("token", ["", "nonsense", "00000000", "x" * 100, None, 7])
def test_what_is_no_token_is_named(client: Client, admin, token: Any):
    run, _ = running(client, admin)
    answer = client.post(f"/v1/runs/{run}/complete", {"lease_token": token})
    assert answer.status == 400
    assert answer.fields == ["lease_token"]


@pytest.mark.parametrize(("act", "member", "size"), [("heartbeat", "progress", 5_000), ("complete", "result", 70_000)])
def test_notes_are_bounded(client: Client, admin, act: str, member: str, size: int):
    run, token = running(client, admin)
    answer = client.post(f"/v1/runs/{run}/{act}", {"lease_token": token, member: "x" * size})
    assert (answer.status, answer.fields) == (400, [member])


@pytest.mark.parametrize("act", ["heartbeat", "complete", "fail", "retry", "cancel"])
def test_an_unknown_run_is_404(client: Client, act: str):
    body = {"lease_token": str(uuid4())} if act in ("heartbeat", "complete", "fail") else None
    assert client.post("/v1/runs/run_00000000000000000000000000/" + act, body).status == 404


def test_a_cancelled_run_is_shown_so_and_cannot_be_cancelled_again(client: Client):
    run = triggered(client)
    cancelled = client.post(f"/v1/runs/{run}/cancel")
    assert (cancelled.status, cancelled.json["state"]) == (200, "cancelled")
    assert client.post(f"/v1/runs/{run}/cancel").status == 409


def test_a_dead_run_is_retried_and_a_succeeded_one_is_not(client: Client, admin):
    run = triggered(client)
    refused = client.post(f"/v1/runs/{run}/retry")
    assert refused.status == 409
    assert refused.json["detail"].endswith("; dead, cancelled, skipped ones can be started over")
    admin.execute("update run set state = 'dead', wake_at = null where origin = 'trigger'")
    retried = client.post(f"/v1/runs/{run}/retry")
    assert (retried.status, retried.json["state"], retried.json["id"]) == (202, "queued", run)


@pytest.mark.parametrize("act", ["cancel", "retry"])
def test_a_run_that_changed_since_it_was_read_is_left_as_it_is(client: Client, admin, act: str):
    run = triggered(client)
    if act == "retry":
        admin.execute("update run set state = 'dead', wake_at = null where origin = 'trigger'")
    seen = client.get(f"/v1/runs/{run}").headers["etag"]
    admin.execute("update run set progress = '1' where origin = 'trigger'")
    late = client.post(f"/v1/runs/{run}/{act}", headers={"If-Match": seen})
    assert (late.status, client.get(f"/v1/runs/{run}").json["reason"]) == (412, None)
    now = client.get(f"/v1/runs/{run}").headers["etag"]
    done = client.post(f"/v1/runs/{run}/{act}", headers={"If-Match": f'"other", {now}'})
    assert done.status in (200, 202)
    assert done.headers["etag"] == client.get(f"/v1/runs/{run}").headers["etag"]


def test_the_lateness_of_a_run_that_is_started_over_is_that_of_its_new_start(client: Client, admin):
    run = triggered(client)
    admin.execute(
        "update run set state = 'dead', wake_at = null, started_at = fire_at + interval '5 ms' where origin = 'trigger'"
    )
    assert client.get(f"/v1/runs/{run}").json["lateness_ms"] == 5
    client.now += timedelta(hours=1)
    assert client.post(f"/v1/runs/{run}/retry").json["lateness_ms"] is None
    admin.execute("update run set started_at = fire_at + interval '7 ms' where origin = 'trigger'")
    assert client.get(f"/v1/runs/{run}").json["lateness_ms"] == 7


def test_a_run_that_was_held_after_it_had_started_is_not_early(client: Client, admin):
    run = triggered(client)
    admin.execute("update run set started_at = fire_at, fire_at = fire_at + interval '1 h' where origin = 'trigger'")
    assert client.get(f"/v1/runs/{run}").json["lateness_ms"] is None


def test_redrive_counts_and_starts_over(client: Client, admin):
    for _ in range(3):
        triggered(client)
    admin.execute("update run set state = 'dead', wake_at = null where origin = 'trigger'")
    dry = client.post("/v1/runs/redrive", {"filter": {"state": "dead"}, "dry_run": True})
    assert dry.json == {"dry_run": True, "runs": 3, "more": False}
    assert client.post("/v1/runs/redrive", {}).json == {"dry_run": False, "runs": 3, "more": False}
    assert client.post("/v1/runs/redrive", {"dry_run": True}).json["runs"] == 0


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"job": "job_x"}, "filter.job"),
        ({"from": "yesterday"}, "filter.from"),
        ({"state": "succeeded"}, "filter.state"),
        ({"form": format_instant(T0)}, "filter.form"),
        ({"from": format_instant(T0), "to": format_instant(T0 - timedelta(days=1))}, "filter.to"),
    ],
)
def test_a_bad_filter_is_named(client: Client, wanted: dict[str, Any], field: str):
    answer = client.post("/v1/runs/redrive", {"filter": wanted})
    assert (answer.status, answer.fields) == (400, [field])
