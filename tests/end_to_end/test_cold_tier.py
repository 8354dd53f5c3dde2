"""A job of the far future: into S3, found there by its id, brought back by an edit, and rung."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hourbell.client import ApiError, Client
from hourbell.cold.objects import ColdObjects
from hourbell.domain.instants import format_instant
from hourbell.local.aws import invoke, lambda_client, s3_client
from hourbell.services.verify_cold import verify_cold
from hourbell.store.connection import Database

from tests.end_to_end.bells import Hang, soon, until

if TYPE_CHECKING:
    from hourbell.local.state import Cloud

# Enough for a segment of its own at once.
JOBS = 1_000


@pytest.fixture
def objects(local_cloud: Cloud) -> ColdObjects:
    s3 = s3_client(local_cloud.endpoint)
    return ColdObjects(bucket=local_cloud.outputs["ColdBucketName"], client=lambda: s3)


def test_a_frozen_job_is_found_edited_and_rings_and_another_is_deleted(
    hang: Hang, client: Client, local_cloud: Cloud, objects: ColdObjects
):
    bell = hang(datetime.now(UTC) + timedelta(days=180), payload={"n": 0})
    body = {key: bell.job[key] for key in ("schedule", "target")}
    others = client.create_jobs([{**body, "payload": {"n": n}} for n in range(1, JOBS)])["items"]
    assert {job["tier"] for job in (bell.job, *others)} == {"cold"}
    functions = lambda_client(local_cloud.endpoint)
    assert until(lambda: invoke(functions, "freezer", {}) and any(objects.list_keys()), seconds=30)

    assert client.get_job(bell.job["id"]) == bell.job
    assert client.get_job(others[-1]["id"])["payload"] == {"n": JOBS - 1}
    listed = client.list_jobs(tier="cold", limit=200)
    assert [job["id"] for job in listed["items"]] == sorted(job["id"] for job in (bell.job, *others))[:200]
    client.delete_job(others[0]["id"])
    with pytest.raises(ApiError) as gone:
        client.get_job(others[0]["id"])
    assert gone.value.status == 404

    edited = client.update_job(bell.job["id"], {"schedule": {"at": format_instant(soon(4))}}, if_version=1)

    assert (edited["tier"], edited["id"]) == ("hot", bell.job["id"])
    (call,) = bell.place.wait(1, seconds=20)
    assert call.payload == {"n": 0}
    with closing(Database(local_cloud.database)) as database:
        assert list(verify_cold(database, objects, now=datetime.now(UTC))) == []
