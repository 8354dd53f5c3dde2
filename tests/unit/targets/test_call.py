"""What a target is told about its run."""

from __future__ import annotations

import json

import pytest
from hourbell.domain.ids import encode
from hourbell.targets.call import clean_error, document, message_attributes, message_body

from tests.unit.targets.calls import JOB, LEASE, RUN, target_call

ABOUT = {
    "run_id": encode("run", RUN),
    "attempt": 2,
    "job_id": encode("job", JOB),
    "scheduled_for": "2027-05-09T12:00:00.000Z",
    "lease_token": str(LEASE),
}


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ('{"n":1}', {"n": 1, "hourbell": ABOUT}),
        ("{}", {"hourbell": ABOUT}),
        ("null", {"hourbell": ABOUT}),
        ("[1,2]", {"payload": [1, 2], "hourbell": ABOUT}),
        ('"text"', {"payload": "text", "hourbell": ABOUT}),
        ("0", {"payload": 0, "hourbell": ABOUT}),
        ("false", {"payload": False, "hourbell": ABOUT}),
        ('{"hourbell":{"run_id":"forged"},"é":"ü"}', {"é": "ü", "hourbell": ABOUT}),
        (r'{"\u0068ourbell":1}', {"hourbell": ABOUT}),
        ('{"a":{"hourbell":1}}', {"a": {"hourbell": 1}, "hourbell": ABOUT}),
    ],
)
def test_a_document_is_the_payload_with_one_member_more(payload: str, expected: object):
    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    assert json.loads(document(target_call({}, payload)), object_pairs_hook=once) == expected


def test_a_document_keeps_the_payloads_spelling():
    assert document(target_call({}, r'{"b":1.50,"a":"\u00e9","big":123456789012345678901234567890}')).startswith(
        r'{"b":1.50,"a":"\u00e9","big":123456789012345678901234567890,"hourbell":{'
    )


def test_progress_is_handed_on():
    call = target_call({}, progress='{"done":7}')
    assert json.loads(document(call))["hourbell"]["progress"] == {"done": 7}
    assert message_attributes(call)["Hourbell-Progress"] == {"DataType": "String", "StringValue": '{"done":7}'}


def test_the_attributes_of_a_message():
    assert message_attributes(target_call({})) == {
        "Hourbell-Run": {"DataType": "String", "StringValue": ABOUT["run_id"]},
        "Hourbell-Attempt": {"DataType": "Number", "StringValue": "2"},
        "Hourbell-Job": {"DataType": "String", "StringValue": ABOUT["job_id"]},
        "Hourbell-Scheduled-For": {"DataType": "String", "StringValue": "2027-05-09T12:00:00.000Z"},
        "Hourbell-Lease-Token": {"DataType": "String", "StringValue": str(LEASE)},
    }


def test_letters_that_queues_refuse_are_escaped():
    payload = '"a\ufffe\uffff\u2028ü😀"'
    body = message_body(target_call({}, payload))
    assert "\ufffe" not in body
    assert "\uffff" not in body
    assert json.loads(body) == json.loads(payload)


def test_errors_are_text_that_postgres_takes():
    assert clean_error("a\0b\ud800" + "x" * 1_000)[:8] == "a\\0b\\ud8"
    assert len(clean_error("x" * 1_000)) == 500
