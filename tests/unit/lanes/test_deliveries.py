"""The partial batch response: the wrong shape would lose messages, or deliver all of them again."""

from __future__ import annotations

from uuid import UUID

from hourbell.domain.run_state import Lane
from hourbell.lanes.deliveries import batch_response, message_ids, read_event
from hourbell.lanes.messages import LaneMessage, encode_message

from tests.seeds import T0

MESSAGE = LaneMessage(job_id=UUID(int=1), scheduled_for=T0, tenant_id=UUID(int=2), lane=Lane.SHARED, ready_at=T0)


def test_the_response_names_message_ids_under_the_keys_sqs_reads():
    assert batch_response({"b", "a"}) == {"batchItemFailures": [{"itemIdentifier": "a"}, {"itemIdentifier": "b"}]}


def test_nothing_failed_is_an_empty_list():
    assert batch_response(set()) == {"batchItemFailures": []}


def test_readable_and_unreadable_messages_are_kept_apart():
    event = {
        "Records": [
            {"messageId": "good", "body": encode_message(MESSAGE)},
            {"messageId": "rubbish", "body": "not ours"},
        ]
    }
    deliveries, unreadable = read_event(event)
    assert [(d.message_id, d.message) for d in deliveries] == [("good", MESSAGE)]
    assert unreadable == ["rubbish"]
    assert message_ids(event) == ["good", "rubbish"]


def test_an_event_without_records_is_an_empty_batch():
    assert read_event({"Records": []}) == ([], [])
    assert read_event({}) == ([], [])
