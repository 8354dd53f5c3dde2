"""The receiver remembers what came, and when."""

from __future__ import annotations

from datetime import UTC, datetime

import httpx
from hourbell.local.receiver import Receiver


def test_calls_are_remembered_with_their_headers():
    with Receiver() as receiver, httpx.Client(trust_env=False) as http:
        headers = {
            "Idempotency-Key": "run_1",
            "Hourbell-Job": "job_1",
            "Hourbell-Scheduled-For": "2026-11-29T12:00:00.250Z",
        }
        reply = http.post(f"{receiver.url}/ring", content=b"7", headers=headers)
        (call,) = receiver.calls()
    assert reply.status_code == 200
    assert (call.path, call.body, call.run_id, call.job_id) == ("/ring", b"7", "run_1", "job_1")
    assert call.scheduled_for == datetime(2026, 11, 29, 12, 0, 0, 250_000, UTC)
    assert call.lateness_ms is not None


def test_a_caller_that_is_no_hourbell_is_remembered_without_an_occurrence():
    with Receiver() as receiver, httpx.Client(trust_env=False) as http:
        http.post(receiver.url, headers={"Hourbell-Scheduled-For": "soon"})
        (call,) = receiver.calls()
    assert call.scheduled_for is None
    assert call.lateness_ms is None
