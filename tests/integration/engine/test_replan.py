"""After an update of the time-zone data: jobs move to where it says, once, and nothing fires at the old time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hourbell.services.replan_jobs import Replanned, replan_jobs

from tests.seeds import T0, Seeder

BERLIN = {"cron": "0 9 * * *", "timezone": "Europe/Berlin"}
RIGHT = T0 + timedelta(hours=19)  # 09:00 of the next day in Berlin, in summer
WRONG = RIGHT + timedelta(hours=1)


def replan(database: Any, version: str = "2027b", **kwargs: Any) -> Replanned:
    return replan_jobs(database, version=version, now=T0, **{"time_left": lambda: True, **kwargs})


def test_a_job_planned_with_older_data_moves(database, seed: Seeder):
    job_id = seed.job(BERLIN, due_at=WRONG)
    right = seed.job(BERLIN, due_at=RIGHT)

    assert replan(database) == Replanned(looked_at=2, moved=1, done=True)

    assert seed.rows("select scheduled_for, next_run_at from due") == [(RIGHT, RIGHT)] * 2
    assert dict(seed.rows("select job_id, schedule_version from job")) == {job_id: 2, right: 1}


def test_the_same_version_is_done_once(database, seed: Seeder):
    seed.job(BERLIN, due_at=RIGHT)
    assert replan(database).looked_at == 1
    assert replan(database).looked_at == 0
    assert replan(database, version="2027c").looked_at == 1
    assert replan(database, version="2027c", force=True).looked_at == 1


def test_it_goes_on_where_it_stopped(database, seed: Seeder):
    seed.jobs(5, BERLIN, due_at=WRONG)
    answers = iter([True, False])

    first = replan(database, batch=2, time_left=lambda: next(answers))
    assert first == Replanned(looked_at=2, moved=2, done=False)

    rest = replan(database, batch=2)
    assert rest == Replanned(looked_at=3, moved=3, done=True)
    assert seed.rows("select distinct scheduled_for from due") == [(RIGHT,)]


def test_what_is_due_already_stays(database, seed: Seeder):
    seed.job(BERLIN, due_at=T0 - timedelta(minutes=1))
    assert replan(database).moved == 0


def test_elapsed_time_knows_no_zone(database, seed: Seeder):
    seed.job({"every": "PT7H", "anchor": "2020-01-01T00:00:00Z"}, due_at=WRONG)
    assert replan(database).moved == 0


def test_a_job_with_runs_planned_ahead_moves_past_them(database, seed: Seeder):
    """Its next occurrence was planned already: the due row is the one after, and that is right."""
    job_id = seed.job(BERLIN, due_at=RIGHT + timedelta(days=1))
    seed.run(job_id, RIGHT)
    assert replan(database).moved == 0


def test_a_window_is_kept(database, seed: Seeder):
    seed.job(BERLIN, due_at=WRONG, window_ms=60_000)
    replan(database)
    ((scheduled_for, next_run_at),) = seed.rows("select scheduled_for, next_run_at from due")
    assert scheduled_for == RIGHT
    assert RIGHT <= next_run_at < RIGHT + timedelta(minutes=1)
