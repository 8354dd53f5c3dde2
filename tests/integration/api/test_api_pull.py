"""Workers that fetch the runs of their target over the API; the database's clock decides what is due."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hourbell.api.schemas import REPLIES

from tests.integration.api.conftest import Client


@pytest.fixture
def client(client: Client) -> Client:
    client.now = datetime.now(UTC)  # what is triggered then is due by the database's clock as well
    client.target("reports", http=None, pull={})
    return client


def lease(client: Client, **body: Any):
    return client.post("/v1/runs/lease", {"target": "reports", **body})


def test_a_worker_fetches_runs_heartbeats_and_completes_them(client: Client):
    job = client.job(target="reports", payload={"n": 1.50})
    triggered = client.post(f"/v1/jobs/{job['id']}/trigger", {}).json

    answer = lease(client, wait="2s", max=5)

    assert answer.status == 200, answer.text
    REPLIES["LeasedRuns"].model_validate_json(answer.text)
    (run,) = answer.json["runs"]
    assert run["run_id"] == triggered["id"]
    assert (run["job_id"], run["attempt"], run["payload"], run["progress"]) == (job["id"], 1, {"n": 1.5}, None)
    token = {"lease_token": run["lease_token"]}
    path = f"/v1/runs/{run['run_id']}"
    assert (
        client.post(f"{path}/heartbeat", {**token, "progress": 7}).json["lease_expires_at"] >= run["lease_expires_at"]
    )
    assert client.post(f"{path}/complete", {**token, "result": "done"}).json["state"] == "succeeded"
    assert lease(client).json == {"runs": []}
    assert client.post(f"{path}/fail", token).status == 409


def test_the_next_worker_gets_the_progress_of_the_one_that_failed(client: Client, admin):
    job = client.job(target="reports")
    client.post(f"/v1/jobs/{job['id']}/trigger", {})
    (run,) = lease(client, wait="2s").json["runs"]
    token = {"lease_token": run["lease_token"]}
    client.post(f"/v1/runs/{run['run_id']}/heartbeat", {**token, "progress": {"page": 3}})
    client.now = datetime.now(UTC)
    client.post(f"/v1/runs/{run['run_id']}/fail", {**token, "error": "no paper"})
    admin.execute("update run set next_attempt_at = clock_timestamp()")

    (again,) = lease(client, wait="2s").json["runs"]

    assert (again["run_id"], again["attempt"], again["progress"]) == (run["run_id"], 2, {"page": 3})


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"wait": "21s"}, "wait"),
        ({"wait": 5}, "wait"),
        ({"max": 0}, "max"),
        ({"max": 101}, "max"),
        ({"target": "nowhere"}, "target"),
        ({"target": "tgt_nonsense"}, "target"),
        ({"target": "sink"}, "target"),
        ({"limit": 1}, "limit"),
    ],
)
def test_what_cannot_be_asked_names_the_field(client: Client, body: dict[str, Any], field: str):
    answer = lease(client, **body)
    assert (answer.status, answer.fields) == (400, [field])


def test_another_tenants_runs_are_not_to_be_had(client: Client, stranger: Client):
    job = client.job(target="reports")
    client.post(f"/v1/jobs/{job['id']}/trigger", {})
    target = client.get("/v1/targets", query={"name": "reports"}).json["items"][0]
    assert lease(stranger).fields == lease(stranger, target=target["id"]).fields == ["target"]


def test_a_key_that_may_only_read_leases_nothing(client: Client):
    client.scopes = "jobs:read jobs:write"
    assert lease(client).status == 403
