"""Events on EventBridge: in batches, and only what it accepted counts as sent."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from botocore.exceptions import EndpointConnectionError
from hourbell.lanes.bus import BusEvent, EventBridgeBus

from tests.seeds import T0


class Events:
    """An EventBridge that refuses the entries it is told to, or cannot be reached."""

    def __init__(self, *, refused: frozenset[int] = frozenset(), away: bool = False) -> None:
        self.refused, self.away = refused, away
        self.batches: list[list[dict[str, Any]]] = []

    def put_events(self, *, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803 - boto3's name
        if self.away:
            raise EndpointConnectionError(endpoint_url="https://events")
        self.batches.append(Entries)
        codes = [{"ErrorCode": "ThrottlingException"} if n in self.refused else {"EventId": "e"} for n in range(10)]
        return {"Entries": codes[: len(Entries)]}


def bus(client: Events) -> EventBridgeBus:
    return EventBridgeBus(name="hourbell-test", client=lambda: client)


def events(count: int) -> list[BusEvent]:
    return [BusEvent(event_id=UUID(int=n), kind="run.dead", detail={"n": n}, at=T0) for n in range(count)]


def test_events_go_in_batches_of_ten():
    client = Events()
    assert bus(client).put(events(23)) == {UUID(int=n) for n in range(23)}
    assert [len(batch) for batch in client.batches] == [10, 10, 3]
    entry = client.batches[0][7]
    assert (entry["EventBusName"], entry["Source"], entry["DetailType"]) == ("hourbell-test", "hourbell", "run.dead")
    assert (json.loads(entry["Detail"]), entry["Time"]) == ({"n": 7}, T0)


def test_what_is_refused_is_not_answered():
    assert bus(Events(refused=frozenset({1}))).put(events(3)) == {UUID(int=0), UUID(int=2)}


def test_a_bus_out_of_reach_accepts_nothing():
    assert bus(Events(away=True)).put(events(12)) == set()
    assert bus(Events()).put([]) == set()
