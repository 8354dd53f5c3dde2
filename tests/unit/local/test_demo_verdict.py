"""The demonstration's verdict: what should have rung, held against what did."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hourbell.client import Attempt, Job, Run
from hourbell.domain import ids
from hourbell.domain.instants import format_instant
from hourbell.local.demo import Bell, asked_for, expected_occurrences, judge
from hourbell.local.receiver import Call

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
UNTIL = NOON + timedelta(seconds=10)
JOB_ID = ids.new_job_id(NOON, entropy=bytes)
OCCURRENCES = (NOON + timedelta(seconds=2), NOON + timedelta(seconds=4))


def job(schedule: dict[str, Any], next_run_at: datetime | None) -> Job:
    return {  # type: ignore[typeddict-item]
        "id": ids.encode("job", JOB_ID),
        "schedule": schedule,
        "next_run_at": None if next_run_at is None else format_instant(next_run_at),
    }


BELL = Bell(label="bell", job=job({"every": "PT2S"}, OCCURRENCES[0]), occurrences=OCCURRENCES)


def run_of(occurrence: datetime) -> str:
    return ids.encode("run", ids.run_id(JOB_ID, occurrence))


def call(occurrence: datetime, *, late_ms: int = 5, run: str | None = None) -> Call:
    headers = {
        "idempotency-key": run or run_of(occurrence),
        "hourbell-job": ids.encode("job", JOB_ID),
        "hourbell-scheduled-for": format_instant(occurrence),
    }
    return Call(received_at=occurrence + timedelta(milliseconds=late_ms), path="/", headers=headers, body=b"")


def record(occurrence: datetime, state: str = "succeeded") -> Run:
    return {"id": run_of(occurrence), "state": state}  # type: ignore[typeddict-item]


def attempt(number: int, error: str | None) -> Attempt:
    return {"number": number, "error": error}  # type: ignore[typeddict-item]


def verdict(calls: list[Call], runs: list[Run]) -> Any:
    return judge([BELL], calls, runs, until=UNTIL)


RUNS = [record(occurrence) for occurrence in OCCURRENCES]


def test_all_is_well_when_every_run_rang_once_and_in_time():
    found = verdict([call(occurrence) for occurrence in OCCURRENCES], RUNS)
    assert found.ok
    assert (found.expected, found.received) == (2, 2)
    assert found.percentile(0.5) == found.percentile(1.0) == 5.0


def test_a_run_that_never_came_is_missing():
    found = verdict([call(OCCURRENCES[0])], [RUNS[0], record(OCCURRENCES[1], "queued")])
    assert not found.ok
    assert found.missing == ("bell, 2026-11-29T12:00:04.000Z (queued)",)


def test_a_missing_run_says_why_its_last_attempt_failed():
    failed: Run = record(OCCURRENCES[1], "retrying")
    failed["attempts"] = [attempt(1, "no route"), attempt(2, "the target answered 503"), attempt(3, None)]
    found = verdict([call(OCCURRENCES[0])], [RUNS[0], failed])
    assert found.missing == ("bell, 2026-11-29T12:00:04.000Z (retrying: the target answered 503)",)


def test_a_run_that_rang_without_a_record_is_missing():
    found = verdict([call(occurrence) for occurrence in OCCURRENCES], RUNS[:1])
    assert found.missing == ("bell, 2026-11-29T12:00:04.000Z (no run record)",)


def test_a_run_that_rang_twice_is_doubled():
    found = verdict([*(call(occurrence) for occurrence in OCCURRENCES), call(OCCURRENCES[0])], RUNS)
    assert found.doubled == ("bell, 2026-11-29T12:00:02.000Z (2 calls)",)


def test_a_second_run_for_the_same_time_is_doubled():
    other = ids.encode("run", UUID(int=7))
    found = verdict([*(call(occurrence) for occurrence in OCCURRENCES), call(OCCURRENCES[0], run=other)], RUNS)
    assert found.doubled == (f"{other} (1 calls)",)


@pytest.mark.parametrize(("late_ms", "late"), [(1000, 0), (1001, 1)])
def test_more_than_a_second_is_late(late_ms: int, late: int):
    found = verdict([call(OCCURRENCES[0], late_ms=late_ms), call(OCCURRENCES[1])], RUNS)
    assert len(found.late) == late


def test_what_rings_after_the_watched_time_does_not_count():
    later = call(UNTIL + timedelta(seconds=2))
    assert verdict([*(call(occurrence) for occurrence in OCCURRENCES), later], RUNS).ok


def test_expected_occurrences_are_computed_from_the_schedule():
    shown = job({"every": "PT2S", "anchor": format_instant(NOON)}, OCCURRENCES[0])
    assert expected_occurrences(shown, NOON + timedelta(seconds=5)) == OCCURRENCES


def test_a_job_that_never_rings_again_expects_nothing():
    assert expected_occurrences(job({"at": format_instant(NOON)}, None), UNTIL) == ()


def test_what_rings_after_the_watched_time_is_not_counted_on_the_screen_either():
    late = call(UNTIL + timedelta(seconds=1))
    assert asked_for([call(OCCURRENCES[0]), late], UNTIL) == [call(OCCURRENCES[0])]
