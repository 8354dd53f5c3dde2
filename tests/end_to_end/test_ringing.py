"""Jobs ring: once, on time, with their payload; beats are kept; triggers, retries and the dead."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hourbell.client import Client
from hourbell.domain.instants import format_instant

from tests.end_to_end.bells import Bell, Hang, soon, until

pytestmark = pytest.mark.end_to_end

# "Within a second at worst" is the promise for a machine that does nothing else; tests share theirs.
ON_TIME_MS = 1000


def test_a_one_off_rings_on_time_and_leaves_its_record(hang: Hang, client: Client):
    at = soon(5)
    bell = hang(at, payload={"n": 1, "text": "ü"}, tags={"team": "ringing"})
    assert (bell.job["state"], bell.job["next_run_at"]) == ("active", format_instant(at))
    (call,) = bell.place.wait(1, seconds=10)
    assert 0 <= call.late_ms < ON_TIME_MS
    assert call.payload == {"n": 1, "text": "ü"}
    assert call.headers["hourbell-job"] == bell.job["id"]
    assert call.headers["webhook-id"] == call.run_id
    assert call.headers["webhook-signature"].startswith("v1,")

    run = bell.run_in("succeeded")
    assert (run["id"], run["scheduled_for"], run["fire_at"]) == (call.run_id, format_instant(at), format_instant(at))
    (attempt,) = run["attempts"]
    assert (attempt["number"], attempt["outcome"], attempt["status_code"]) == (1, "succeeded", 200)
    assert client.get_job(bell.job["id"])["state"] == "completed"


@pytest.fixture(scope="module")
def beats(hang: Hang) -> tuple[Bell, Bell]:
    """Two recurring jobs, heard for some seconds and then stopped."""
    every = hang({"every": "1s"})
    cron = hang({"cron": "*/2 * * * * *", "timezone": "Asia/Kolkata"})
    every.place.wait(8, seconds=20)
    cron.place.wait(4, seconds=20)
    for bell in (every, cron):
        bell.client.pause_job(bell.job["id"])
    return every, cron


@pytest.mark.parametrize(("which", "step"), [(0, 1), (1, 2)], ids=["every", "cron"])
def test_a_recurring_job_keeps_its_beat(beats: tuple[Bell, Bell], which: int, step: int):
    calls = sorted(beats[which].place.calls, key=lambda call: call.scheduled_for)
    occurrences = [call.scheduled_for for call in calls]
    assert len(set(occurrences)) == len(occurrences)
    gaps = {later - earlier for earlier, later in pairwise(occurrences)}
    assert gaps == {timedelta(seconds=step)}
    assert max(call.late_ms for call in calls) < ON_TIME_MS


def test_cron_seconds_are_whole(beats: tuple[Bell, Bell]):
    assert all(call.scheduled_for.second % 2 == 0 for call in beats[1].place.calls)
    assert all(call.scheduled_for.microsecond == 0 for call in beats[1].place.calls)


def test_a_trigger_rings_now_with_its_own_payload(hang: Hang, client: Client):
    bell = hang({"every": "1d"}, payload={"planned": True})
    client.pause_job(bell.job["id"])
    run = client.trigger_job(bell.job["id"], {"payload": {"planned": False}})
    (call,) = bell.place.wait(1, seconds=5)
    assert (call.run_id, call.payload) == (run["id"], {"planned": False})
    assert bell.run_in("succeeded")["id"] == run["id"]
    assert client.get_job(bell.job["id"])["state"] == "paused"


RETRY = {"max_attempts": 3, "backoff": "exponential", "initial": "PT1S", "maximum": "PT1S"}


def test_a_failing_target_is_called_again_until_it_answers(hang: Hang):
    bell = hang(soon(2), answer=lambda number: 503 if number < 3 else 200, retry=RETRY)
    calls = bell.place.wait(3, seconds=30)
    assert [call.attempt for call in calls] == [1, 2, 3]
    assert len({call.run_id for call in calls}) == 1
    run = bell.run_in("succeeded")
    assert [attempt["status_code"] for attempt in run["attempts"]] == [503, 503, 200]


def test_a_run_is_dead_at_its_attempt_limit_and_calls_no_more(hang: Hang):
    bell = hang(soon(2), answer=lambda _: 500, retry={**RETRY, "max_attempts": 2})
    bell.place.wait(2, seconds=30)
    run = bell.run_in("dead")
    assert (run["attempt"], run["reason"]) == (2, "attempts_exhausted")
    assert not until(lambda: len(bell.place.calls) > 2, seconds=3)


def test_a_run_that_its_target_refuses_is_dead_at_once(hang: Hang):
    bell = hang(soon(2), answer=lambda _: 400, retry=RETRY)
    bell.place.wait(1, seconds=10)
    run = bell.run_in("dead")
    assert (run["attempt"], run["reason"]) == (1, "refused_by_target")


def test_a_slow_neighbour_delays_nobody(hang: Hang):
    at = soon(5)
    slow = hang(at, closed=True)
    quick = hang(at)
    slow.place.wait(1, seconds=10)
    (call,) = quick.place.wait(1, seconds=5)
    assert call.late_ms < ON_TIME_MS
    assert slow.only_run()["state"] == "running"
    slow.place.gate.set()
    slow.run_in("succeeded")


def test_a_hundred_jobs_of_one_moment_ring_once_each(client: Client, hang: Hang):
    first = hang(soon(15))
    at = datetime.fromisoformat(first.job["next_run_at"])
    definition = {"schedule": {"at": format_instant(at)}, "target": first.job["target"]}
    threads = [threading.Thread(target=lambda: [client.create_job(definition) for _ in range(33)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    calls = first.place.wait(100, seconds=30)
    assert len({call.run_id for call in calls}) == len(calls) == 100
    assert all(call.scheduled_for == at for call in calls)
    assert min(call.late_ms for call in calls) >= 0
