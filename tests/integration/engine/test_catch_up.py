"""After an outage: the policy decides, every occurrence is accounted for, and nobody else waits."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import Any

import pytest
from hourbell.domain.planning import MISSED_RUNS

from tests.integration.engine.test_scan import scan
from tests.seeds import T0, Seeder

MINUTELY = {"cron": "* * * * *", "timezone": "UTC"}
SECONDLY = {"every": "PT1S", "anchor": "2020-01-01T00:00:00Z"}


def policy(name: str, within: str | None = None) -> str:
    return json.dumps({"policy": name, "within": within})


def outage(seed: Seeder, schedule: dict[str, Any], gone: timedelta, catch_up: str) -> None:
    """A job whose due row is as old as the outage."""
    seed.job(schedule, due_at=T0 - gone, catch_up=catch_up)


def states(seed: Seeder) -> dict[str, int]:
    return dict(seed.rows("select state, count(*) from run where scheduled_for <= %s group by state", T0))


def test_after_ten_minutes_run_once_runs_the_latest_and_records_each_other_as_skipped(database, seed: Seeder, lanes):
    outage(seed, MINUTELY, timedelta(minutes=10), policy("run_once"))
    scan(database, lanes)
    assert states(seed) == {"skipped": 10, "queued": 1}
    assert seed.rows("select distinct reason from run where state = 'skipped'") == [("missed",)]
    assert seed.rows("select occurrences, first_scheduled_for, last_scheduled_for from missed") == [
        (10, T0 - timedelta(minutes=10), T0 - timedelta(minutes=1))
    ]


def test_after_ten_minutes_run_all_runs_each(database, seed: Seeder, lanes):
    outage(seed, MINUTELY, timedelta(minutes=10), policy("run_all"))
    scan(database, lanes)
    assert states(seed) == {"queued": 11}
    assert seed.rows("select count(*) from missed") == [(0,)]


def test_after_ten_minutes_skip_runs_only_what_is_current(database, seed: Seeder, lanes):
    """Two minutes late is a late tick, not an outage."""
    outage(seed, MINUTELY, timedelta(minutes=10), policy("skip"))
    scan(database, lanes)
    assert states(seed) == {"skipped": 8, "queued": 3}


@pytest.mark.parametrize("gone", [timedelta(days=3), timedelta(days=730)])
def test_a_long_outage_is_recorded_in_aggregate(database, seed: Seeder, lanes, gone: timedelta):
    outage(seed, MINUTELY, gone, policy("run_once"))
    scan(database, lanes)
    assert states(seed) == {"queued": 1}
    minutes = gone // timedelta(minutes=1)
    assert minutes > MISSED_RUNS
    assert seed.rows("select occurrences from missed") == [(min(minutes, 1_000_000),)]


def test_within_bounds_how_far_run_all_goes_back(database, seed: Seeder, lanes):
    outage(seed, MINUTELY, timedelta(days=3), policy("run_all", "PT1H"))
    scan(database, lanes)
    assert states(seed) == {"queued": 61}
    assert seed.rows("select occurrences from missed") == [(3 * 1440 - 60,)]


def test_a_per_second_job_two_years_behind_stalls_nobody(database, seed: Seeder, lanes):
    outage(seed, SECONDLY, timedelta(days=730), policy("run_once"))
    others = set(seed.jobs(200))
    started = time.process_time()
    scan(database, lanes)
    assert time.process_time() - started < 5
    assert others <= {m.job_id for m in lanes.sent}
    assert states(seed)["queued"] == 201


def test_running_all_of_two_years_of_seconds_is_taken_up_again_and_again(database, seed: Seeder, lanes):
    """Bounded work per claim: the scan's time runs out, what is left stays due, and the current jobs have run."""
    outage(seed, SECONDLY, timedelta(days=730), policy("run_all"))
    others = set(seed.jobs(50))
    from hourbell.services.scan_shards import scan_shards

    from tests.integration.engine.test_scan import ALL, HORIZON

    rounds = iter([True] * 5 + [False] * 100)
    scanned = scan_shards(database, lanes, ALL, owner="one", horizon=HORIZON, time_left=lambda: next(rounds), now=T0)

    assert not scanned.drained
    assert others <= {m.job_id for m in lanes.sent}
    ((left,),) = seed.rows("select scheduled_for from due where next_run_at < %s", T0)
    assert T0 - timedelta(days=730) < left < T0


def test_a_missed_occurrence_that_has_run_already_stays_as_it_is(database, seed: Seeder, lanes):
    job_id = seed.job(MINUTELY, due_at=T0 - timedelta(minutes=10), catch_up=policy("run_once"))
    seed.run(job_id, T0 - timedelta(minutes=9), state="succeeded", wake_at=None)
    scan(database, lanes)
    assert states(seed) == {"skipped": 9, "succeeded": 1, "queued": 1}
