from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hourbell.domain.run_state import Lane
from hourbell.lanes.messages import LaneMessage, MessageError, decode_message, encode_message
from hypothesis import given
from hypothesis import strategies as st

milliseconds = st.integers(min_value=0, max_value=253_370_764_800_000).map(
    lambda ms: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
)


@given(st.uuids(), milliseconds, st.uuids(), st.sampled_from(Lane), milliseconds)
def test_a_message_survives_the_lane(job_id: UUID, at: datetime, tenant_id: UUID, lane: Lane, ready_at: datetime):
    message = LaneMessage(job_id=job_id, scheduled_for=at, tenant_id=tenant_id, lane=lane, ready_at=ready_at)
    assert decode_message(encode_message(message)) == message


def test_a_test_travels_as_the_message_of_a_run_that_an_older_worker_can_read():
    at = datetime(2027, 5, 9, tzinfo=UTC)
    test = LaneMessage(
        job_id=UUID(int=1), scheduled_for=at, tenant_id=UUID(int=2), lane=Lane.SHARED, ready_at=at, is_test=True
    )
    fields = json.loads(encode_message(test))

    assert decode_message(encode_message(test)) == test
    assert fields.pop("test") is True
    assert fields == json.loads(encode_message(test._replace(is_test=False)))


@pytest.mark.parametrize(
    "body",
    ["", "{", "[]", "null", "{}", '{"v": 2}', '{"v": 1}', '{"v":1,"job":1,"for":0,"tenant":"","lane":"x","ready":0}'],
)
def test_what_no_release_sent_is_named_so(body: str):
    with pytest.raises(MessageError):
        decode_message(body)


@given(st.text())
def test_rubbish_never_raises_anything_else(body: str):
    with pytest.raises(MessageError):
        decode_message(body)
