"""What one claim makes of one due job."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hourbell.domain.planning import (
    MISFIRE_GRACE,
    RUNS_PER_CLAIM,
    CatchUp,
    CatchUpPolicy,
    PlannableJob,
    plan,
    plans_alike,
)
from hourbell.domain.run_state import Lane, lane_for
from hourbell.domain.schedule import parse_schedule

from tests.seeds import T0

HORIZON = timedelta(seconds=120)


def job(schedule: dict[str, Any], *, window_ms: int = 0, runs_planned: int = 0, **catch_up: Any) -> PlannableJob:
    return PlannableJob(
        job_id=UUID(int=5),
        schedule=parse_schedule(schedule, now=T0 - timedelta(days=3650)),
        window_ms=window_ms,
        catch_up=CatchUp(**catch_up),
        runs_planned=runs_planned,
    )


def every(seconds: int, **kwargs: Any) -> PlannableJob:
    return job({"every": f"PT{seconds}S", "anchor": "2020-01-01T00:00:00Z"}, **kwargs)


def planned(of: PlannableJob, since: datetime = T0, *, now: datetime = T0, **kwargs: Any):
    return plan(of, scheduled_for=since, now=now, until=now + HORIZON, **kwargs)


def fired(of: PlannableJob, since: datetime, *, now: datetime = T0) -> list[datetime]:
    return [run.scheduled_for for run in planned(of, since, now=now).runs]


def test_a_minutely_job_is_planned_up_to_the_horizon_and_moves_past_it():
    made = planned(job({"cron": "* * * * *", "timezone": "UTC"}))
    assert [run.scheduled_for for run in made.runs] == [T0, T0 + timedelta(minutes=1), T0 + timedelta(minutes=2)]
    assert made.next is not None
    assert made.next.fire_at == T0 + timedelta(minutes=3)


def test_a_claim_is_bounded_and_goes_on_where_it_stopped():
    made = planned(every(1, policy=CatchUpPolicy.RUN_ALL), T0 - timedelta(days=1))
    assert len(made.runs) == RUNS_PER_CLAIM
    assert made.next is not None
    assert made.next.scheduled_for == T0 - timedelta(days=1) + timedelta(seconds=RUNS_PER_CLAIM)


def test_a_late_tick_is_no_outage():
    """A tick that comes within the grace still runs everything: late, but not missed."""
    start = T0 - MISFIRE_GRACE
    made = planned(every(30), start)
    assert made.missed == ()
    assert made.runs[0].scheduled_for == start


def test_run_once_runs_the_latest_missed_and_counts_the_others():
    made = planned(every(60), T0 - timedelta(minutes=10))
    assert made.runs[0].scheduled_for == T0
    (stretch,) = made.missed
    assert (stretch.first, stretch.last, stretch.occurrences) == (
        T0 - timedelta(minutes=10),
        T0 - timedelta(minutes=1),
        10,
    )


def test_run_once_catches_up_also_when_the_next_occurrence_is_far_off():
    daily = job({"cron": "0 9 * * *", "timezone": "UTC"})
    made = planned(daily, T0 - timedelta(hours=3) - timedelta(days=2))
    assert [run.scheduled_for for run in made.runs] == [T0 - timedelta(hours=3)]
    assert made.missed[0].occurrences == 2


def test_run_all_goes_oldest_first():
    runs = fired(every(60, policy=CatchUpPolicy.RUN_ALL), T0 - timedelta(minutes=10))
    assert runs == [T0 + timedelta(minutes=minute) for minute in range(-10, 3)]


def test_skip_runs_nothing_that_was_missed():
    made = planned(job({"cron": "0 9 * * *", "timezone": "UTC"}, policy=CatchUpPolicy.SKIP), T0 - timedelta(hours=3))
    assert made.runs == ()
    assert made.next is not None
    assert made.next.scheduled_for == T0 + timedelta(hours=21)
    assert made.missed[0].occurrences == 1


@pytest.mark.parametrize("policy", [CatchUpPolicy.RUN_ONCE, CatchUpPolicy.RUN_ALL])
def test_within_bounds_how_far_back_is_caught_up(policy: CatchUpPolicy):
    made = planned(
        job({"cron": "0 9 * * *", "timezone": "UTC"}, policy=policy, within=timedelta(hours=1)),
        T0 - timedelta(days=3, hours=3),
    )
    assert made.runs == ()
    assert made.missed[0].occurrences == 4


def test_two_years_of_missed_seconds_are_counted_not_walked():
    made = planned(every(1), T0 - timedelta(days=730))
    assert made.runs[0].scheduled_for == T0
    assert made.missed[0].occurrences == 1_000_000  # as far as they are counted
    assert made.missed[0].last == T0 - timedelta(seconds=1)


def test_a_missed_one_off_runs_late():
    once = job({"at": "2027-05-09T09:00:00Z"})
    made = planned(once, T0 - timedelta(hours=3))
    assert [run.scheduled_for for run in made.runs] == [T0 - timedelta(hours=3)]
    assert made.next is None


def test_max_runs_counts_what_was_planned_before():
    made = planned(job({"every": "PT1S", "anchor": "2020-01-01T00:00:00Z", "max_runs": 7}, runs_planned=4))
    assert len(made.runs) == 3
    assert made.next is None


def test_a_window_moves_the_start_and_not_the_occurrence():
    made = planned(job({"cron": "0 12 * * *", "timezone": "UTC"}, window_ms=60_000))
    (run,) = made.runs
    assert run.scheduled_for == T0
    assert T0 <= run.fire_at < T0 + timedelta(minutes=1)


def test_long_runs_go_to_the_solo_lane():
    assert (lane_for(30_000, "http"), lane_for(30_001, "http")) == (Lane.SHARED, Lane.SOLO)
    assert lane_for(30_001, "pull") is Lane.PULL


@pytest.mark.parametrize(
    ("unlike", "alike"),
    [
        (job({"cron": "0 12 * * *", "timezone": "UTC"}), True),
        (job({"cron": "H 12 * * *", "timezone": "UTC"}), False),
        (job({"cron": "0 12 * * *", "timezone": "UTC"}, window_ms=1), False),
        (job({"every": "PT1S", "max_runs": 3}), False),
    ],
)
def test_only_jobs_that_do_not_depend_on_their_id_share_a_plan(unlike: PlannableJob, alike: bool):
    assert plans_alike(unlike) is alike


def test_an_occurrence_that_was_taken_out_gets_no_run_and_is_not_counted():
    taken_out = frozenset({T0 + timedelta(seconds=40)})
    limited = replace(job({"every": "40s", "anchor": "2020-01-01T00:00:00Z", "max_runs": 3}), skipped=taken_out)
    made = planned(limited)
    assert [(run.scheduled_for - T0).seconds for run in made.runs] == [0, 80, 120]
    assert not plans_alike(replace(every(40), skipped=taken_out))
