"""A target is called once through the deployed cloud: asked for at the API, called by a worker, answered by the API."""

from __future__ import annotations

import pytest
from hourbell.client import Client

from tests.end_to_end.sink import Sink

pytestmark = pytest.mark.end_to_end


def test_a_test_of_a_target_calls_it_once_and_says_what_it_answered(client: Client, sink: Sink):
    place = sink.place("tested", lambda _: 418)
    target = client.create_target("tested", {"url": place.url, "headers": {"X-Token": "hush"}})

    test = client.test_target(target["id"], {"payload": {"ledger": 7}})

    assert (test["state"], test["outcome"], test["status_code"]) == ("finished", "failed", 418)
    (call,) = place.calls
    assert call.payload == {"ledger": 7}
    assert call.headers["hourbell-test"] == "true"
    assert call.run_id == test["id"]
    assert test["sent"] is not None
    assert test["sent"]["headers"]["X-Token"] == "***"
    assert client.list_runs(target=target["id"])["items"] == []
