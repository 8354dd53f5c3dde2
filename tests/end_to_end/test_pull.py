"""A worker outside that fetches runs from the deployed cloud: it waits before there are any, and ends what it gets."""

from __future__ import annotations

import pytest
from hourbell.client import Client
from hourbell.domain.instants import format_instant, parse_instant

from tests.end_to_end.bells import soon

pytestmark = pytest.mark.end_to_end


def test_a_worker_that_waits_gets_the_run_at_its_time_and_completes_it(client: Client):
    client.create_target("pulled", pull={})
    at = soon(4)
    job = client.create_job({"schedule": {"at": format_instant(at)}, "target": "pulled", "payload": {"ledger": 7}})

    (run,) = client.lease_runs("pulled", wait="20s", limit=10)["runs"]

    assert (run["job_id"], run["payload"], run["attempt"]) == (job["id"], {"ledger": 7}, 1)
    client.heartbeat_run(run["run_id"], run["lease_token"], progress=1)
    done = client.complete_run(run["run_id"], run["lease_token"], result="printed")
    assert (done["state"], done["result"]) == ("succeeded", "printed")
    started = parse_instant(done["started_at"] or "", field="started_at")
    assert 0 <= (started - at).total_seconds() < 5
    assert client.lease_runs("pulled", wait="PT0S")["runs"] == []
