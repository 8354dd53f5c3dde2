"""Two tenants share everything but what they see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hourbell.client import ApiError, Client, Retries
from hourbell.local.state import Cloud
from hourbell.services.tenants import create_api_key, create_tenant
from hourbell.store.connection import Database

from tests.end_to_end.bells import Bell, Hang

pytestmark = pytest.mark.end_to_end

UNKNOWN_JOB = "job_01h455vb4pex5vsknk084sn02q"


@pytest.fixture(scope="module")
def stranger(local_cloud: Cloud) -> Iterator[Client]:
    """A client of another tenant of the same cloud."""
    database = Database(local_cloud.database)
    now = datetime.now(UTC)
    tenant_id = create_tenant(database, "stranger", now=now)
    key = create_api_key(database, tenant_id, name="end to end", now=now)
    database.close()
    with Client(local_cloud.url, key.secret) as opened:
        yield opened


@pytest.fixture(scope="module")
def bell(hang: Hang, client: Client) -> Bell:
    """A job with a run, of the first tenant."""
    bell = hang({"every": "1d"}, name="ours", tags={"owner": "us"})
    client.trigger_job(bell.job["id"])
    bell.place.wait(1, seconds=10)
    return bell


def refusal(call: Callable[[], object]) -> tuple[int, Any]:
    with pytest.raises(ApiError) as refused:
        call()
    return refused.value.status, refused.value.problem


def test_another_tenants_job_looks_like_none(stranger: Client, bell: Bell):
    for call in (stranger.get_job, stranger.delete_job, stranger.pause_job, stranger.trigger_job, stranger.upcoming):
        status, problem = refusal(lambda call=call: call(bell.job["id"]))
        assert status == 404
        assert problem == refusal(lambda call=call: call(UNKNOWN_JOB))[1]
    assert refusal(lambda: stranger.update_job(bell.job["id"], {"payload": 1}))[0] == 404
    assert len(bell.place.calls) == 1


def test_another_tenants_run_looks_like_none(stranger: Client, bell: Bell):
    assert refusal(lambda: stranger.get_run(bell.only_run()["id"]))[0] == 404


def test_lists_hold_ones_own_only(stranger: Client, bell: Bell):
    assert stranger.list_jobs()["items"] == []
    assert stranger.list_jobs(tag="owner:us", name="ours")["items"] == []
    assert stranger.list_runs()["items"] == []
    assert stranger.list_runs(job=bell.job["id"])["items"] == []


def test_another_tenants_target_cannot_be_used(stranger: Client, bell: Bell):
    job = {"schedule": {"every": "1h"}, "target": bell.job["target"]}
    status, problem = refusal(lambda: stranger.create_job(job))
    assert status == 400
    assert [error["field"] for error in problem["errors"]] == ["target"]


def test_names_are_each_tenants_own(stranger: Client, bell: Bell):
    stranger.create_target(bell.job["target"], {"url": "http://127.0.0.1:9/"})
    job = stranger.create_job({"name": "ours", "schedule": {"every": "1h"}, "target": bell.job["target"]})
    assert [found["id"] for found in stranger.list_jobs(name="ours")["items"]] == [job["id"]]
    stranger.delete_job(job["id"])


def test_an_operator_makes_a_tenant_which_keeps_to_its_quotas(local_cloud: Cloud, client: Client):
    made = client.create_tenant("bounded", quotas={"max_jobs": 1, "max_requests_per_second": 1})
    job = {"schedule": {"every": "1h"}, "target": {"http": {"url": "http://127.0.0.1:9/"}}}

    with Client(local_cloud.url, str(made["key"]["secret"]), retries=Retries(attempts=1)) as bounded:
        status, problem = refusal(lambda: [bounded.list_jobs() for _ in range(30)])
        assert (status, problem["errors"][0]["field"]) == (429, "max_requests_per_second")
        assert refusal(bounded.list_tenants)[0] in (403, 429)
    client.set_quotas(made["id"], {"max_requests_per_second": None})
    with Client(local_cloud.url, str(made["key"]["secret"])) as bounded:  # asks again after 429
        created = bounded.create_job(job)
        status, problem = refusal(lambda: bounded.create_job(job))
        assert (status, problem["errors"][0]["field"]) == (409, "max_jobs")
        assert client.get_tenant(made["id"])["jobs"] == 1
        assert refusal(lambda: client.get_job(created["id"]))[0] == 404
        bounded.delete_job(created["id"])


@pytest.mark.parametrize("key", ["nonsense", "hb_live_nonsense", "hb_live_" + "x" * 43])
def test_a_key_that_nobody_has_is_refused(local_cloud: Cloud, key: str):
    with Client(local_cloud.url, key) as nobody:
        assert refusal(nobody.list_jobs)[0] == 401
        assert nobody.health()["status"] == "ok"
