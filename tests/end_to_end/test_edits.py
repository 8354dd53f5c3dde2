"""Pausing, editing and deleting take effect at once, also when the run's message is already on its way."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest
from hourbell.client import ApiError, Client
from hourbell.domain.instants import format_instant

from tests.end_to_end.bells import Bell, Hang, soon

pytestmark = pytest.mark.end_to_end


@pytest.fixture(scope="module")
def at() -> datetime:
    """When all of these jobs were to ring."""
    return soon(9)


@pytest.fixture(scope="module")
def later(at: datetime) -> datetime:
    """When the moved one rings instead."""
    return at + timedelta(seconds=2, milliseconds=250)


@pytest.fixture(scope="module")
def bells(hang: Hang, client: Client, at: datetime, later: datetime) -> Mapping[str, Bell]:
    """Jobs whose runs wait in the lane, each changed since; all that rings has rung."""
    names = ("paused", "deleted", "repaid", "moved", "retargeted", "resumed", "untouched")
    bells = {name: hang(at, payload={"version": 1}) for name in names}
    assert all(len(bell.planned()) == 1 for bell in bells.values())
    elsewhere = hang({"every": "1d"})
    client.pause_job(bells["paused"].job["id"])
    client.delete_job(bells["deleted"].job["id"])
    client.update_job(bells["repaid"].job["id"], {"payload": {"version": 2}})
    client.update_job(bells["moved"].job["id"], {"schedule": {"at": format_instant(later)}})
    client.update_job(bells["retargeted"].job["id"], {"target": elsewhere.job["target"]})
    client.pause_job(bells["resumed"].job["id"])
    client.resume_job(bells["resumed"].job["id"])
    for name in ("repaid", "moved", "resumed", "untouched"):
        bells[name].place.wait(1, seconds=20)
    elsewhere.place.wait(1, seconds=5)
    return {**bells, "elsewhere": elsewhere}


def test_a_paused_job_is_silent(bells: Mapping[str, Bell]):
    run = bells["paused"].run_in("skipped")
    assert (run["reason"], run["attempt"]) == ("paused", 0)
    assert bells["paused"].place.calls == []


def test_a_deleted_job_is_silent_and_gone(bells: Mapping[str, Bell], client: Client):
    assert bells["deleted"].place.calls == []
    with pytest.raises(ApiError) as refused:
        client.get_job(bells["deleted"].job["id"])
    assert refused.value.status == 404
    (run,) = client.list_runs(job=bells["deleted"].job["id"])["items"]
    assert (run["state"], run["reason"]) == ("cancelled", "deleted")


def test_a_new_payload_is_in_the_very_next_call(bells: Mapping[str, Bell]):
    (call,) = bells["repaid"].place.calls
    assert call.payload == {"version": 2}


def test_a_moved_job_rings_at_its_new_time_only(bells: Mapping[str, Bell], at: datetime, later: datetime):
    (call,) = bells["moved"].place.calls
    assert call.scheduled_for == later
    assert call.late_ms >= 0
    states = {run["scheduled_for"]: (run["state"], run["reason"]) for run in bells["moved"].runs()}
    assert states[format_instant(at)] == ("cancelled", "rescheduled")


def test_a_job_with_a_new_target_calls_that_one(bells: Mapping[str, Bell]):
    assert bells["retargeted"].place.calls == []
    (call,) = bells["elsewhere"].place.calls
    assert call.headers["hourbell-job"] == bells["retargeted"].job["id"]


def test_pausing_and_resuming_within_the_horizon_loses_nothing(bells: Mapping[str, Bell], at: datetime):
    (call,) = bells["resumed"].place.calls
    assert call.scheduled_for == at


def test_an_unchanged_job_rings_as_before(bells: Mapping[str, Bell], at: datetime):
    (call,) = bells["untouched"].place.calls
    assert (call.scheduled_for, call.payload) == (at, {"version": 1})
