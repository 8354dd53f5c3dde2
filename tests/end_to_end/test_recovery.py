"""What happened before the other tests began: a lost message, a killed worker. Nobody helped since."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from hourbell.domain.ids import decode
from hourbell.domain.instants import parse_instant
from hourbell.domain.run_state import Lane
from hourbell.lanes.messages import LaneMessage, encode_message

from tests.end_to_end.bells import Bell, Hang, soon

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Losses

pytestmark = pytest.mark.end_to_end

# Recovery looks at a queued run 30 s after its time and at a running one when its lease of 60 s ends, and it looks once
# a minute; the rest is for a machine that is busy with other tests.
LOST_WITHIN = timedelta(seconds=30 + 60 + 15)
KILLED_WITHIN = timedelta(seconds=60 + 60 + 30)


@pytest.mark.timeout(200)
def test_a_run_whose_message_was_lost_rings_all_the_same(losses: Losses):
    bell = losses.lost_message
    (call,) = bell.place.wait(1, seconds=LOST_WITHIN.total_seconds())
    assert timedelta(seconds=25) < call.at - call.scheduled_for < LOST_WITHIN
    run = bell.run_in("succeeded")
    assert (run["id"], run["attempt"]) == (call.run_id, 1)


@pytest.mark.timeout(200)
def test_a_run_whose_worker_was_killed_is_made_again_by_another(losses: Losses):
    bell = losses.killed_worker
    first, second = bell.place.wait(2, seconds=KILLED_WITHIN.total_seconds())
    assert first.run_id == second.run_id
    assert (first.attempt, second.attempt) == (1, 2)
    assert first.headers["hourbell-lease-token"] != second.headers["hourbell-lease-token"]
    assert second.at - first.at < KILLED_WITHIN
    run = bell.run_in("succeeded")
    assert [(attempt["number"], attempt["outcome"]) for attempt in run["attempts"]] == [
        (1, "crashed"),
        (2, "succeeded"),
    ]


def test_a_message_that_is_delivered_twice_calls_once(hang: Hang, lane, client):
    bell = hang(soon(4))
    (run,) = bell.planned()
    body = _message_of(bell)
    url = lane.get_queue_url(QueueName="hourbell-local-shared")["QueueUrl"]
    for delay in (0, 1, 5):
        lane.send_message(QueueUrl=url, MessageBody=body, DelaySeconds=delay, MessageGroupId="double")
    bell.place.wait(1, seconds=10)
    after = hang(soon(4))
    after.place.wait(1, seconds=10)
    assert len(bell.place.calls) == 1
    assert bell.only_run()["attempt"] == 1
    assert bell.only_run()["id"] == run["id"]


def _message_of(bell: Bell) -> str:
    at = parse_instant(bell.job["next_run_at"] or "", field="next_run_at")
    job_id = decode("job", bell.job["id"])
    message = LaneMessage(job_id=job_id, scheduled_for=at, tenant_id=UUID(int=0), lane=Lane.SHARED, ready_at=at)
    return encode_message(message)
