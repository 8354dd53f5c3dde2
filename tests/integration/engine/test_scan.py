"""The scanner on a real database: what is due becomes runs, each once, whoever races or dies."""

from __future__ import annotations

import threading
from datetime import timedelta

import psycopg
from hourbell.domain.ids import run_id
from hourbell.domain.recovery import WAKE_GRACE
from hourbell.services.claim_due import SCAN_RUNS, claim_shards
from hourbell.services.scan_shards import Scanned, ScanRange, scan_shards
from hourbell.store.connection import Database
from hourbell.store.leases import TTL

from tests.seeds import T0, RecordingLanes, Seeder, minutes

ALL = ScanRange(first_shard=0, last_shard=127)
HORIZON = timedelta(seconds=120)


def scan(database, lanes, *, now=T0, owner="one", shards=ALL, batch=2_000) -> Scanned:
    return scan_shards(
        database, lanes, shards, owner=owner, horizon=HORIZON, time_left=lambda: True, now=now, batch=batch
    )


def test_a_due_job_becomes_a_run_and_a_message_and_moves_on(database, seed: Seeder, lanes):
    job_id = seed.job()

    assert scan(database, lanes).runs == 1

    assert seed.runs() == [(job_id, T0, "queued")]
    assert [(m.job_id, m.scheduled_for, m.ready_at) for m in lanes.sent] == [(job_id, T0, T0)]
    assert seed.rows("select next_run_at, scheduled_for from due") == [(T0 + timedelta(days=1),) * 2]
    assert seed.rows("select run_id from run") == [(run_id(job_id, T0),)]


def test_a_one_off_leaves_the_hot_table_and_is_completed(database, seed: Seeder, lanes):
    seed.job({"at": "2027-05-09T12:00:00.000Z"})

    scan(database, lanes)

    assert seed.rows("select count(*) from due") == [(0,)]
    assert seed.rows("select state from job") == [("completed",)]
    assert len(seed.runs()) == 1


def test_a_planned_run_is_looked_for_only_once_its_message_is_overdue(database, seed: Seeder, lanes):
    late = seed.job(due_at=T0 - minutes(1))
    ahead = seed.job(due_at=T0 + minutes(1))

    scan(database, lanes)

    assert dict(seed.rows("select job_id, wake_at from run")) == {
        late: T0 + WAKE_GRACE,
        ahead: T0 + minutes(1) + WAKE_GRACE,
    }


def test_a_job_beyond_the_horizon_is_left_alone(database, seed: Seeder, lanes):
    seed.job(due_at=T0 + HORIZON + timedelta(milliseconds=1))

    assert scan(database, lanes) == Scanned()
    assert seed.runs() == []


def test_a_sub_minute_job_is_expanded_up_to_the_horizon(database, seed: Seeder, lanes):
    seed.job({"every": "PT1S", "anchor": "2027-05-09T12:00:00.000Z"})

    assert scan(database, lanes).runs == 121

    assert [run[1] for run in seed.runs()] == [T0 + timedelta(seconds=second) for second in range(121)]


def test_two_racing_scanners_make_each_run_once(conninfo, seed: Seeder):
    """Ten thousand jobs due at once, and two scanners that do not even share a lease."""
    seed.jobs(10_000)
    lanes = RecordingLanes()
    start = threading.Barrier(2)

    def race() -> None:
        database = Database(conninfo)
        start.wait()
        while claim := database.run(claim_some):
            lanes.send(claim.messages, now=T0)
        database.close()

    def claim_some(connection):
        claim = claim_shards(connection, first_shard=0, last_shard=127, now=T0, horizon=HORIZON, per_shard=4)
        return claim if claim.rows else None

    threads = [threading.Thread(target=race) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert seed.rows("select count(*), count(distinct job_id) from run") == [(10_000, 10_000)]
    assert len({m.job_id for m in lanes.sent}) == len(lanes.sent) == 10_000


def test_a_second_tick_exits_quietly_while_the_lease_is_held(database, conninfo, seed: Seeder, lanes):
    seed.job()
    seed.rows("insert into shard_lease values (0, 127, 'other', 7, %s) returning token", T0 + timedelta(seconds=5))

    assert scan(database, lanes).held_elsewhere
    assert seed.runs() == []


def test_a_dead_scanners_range_is_taken_over_within_fifteen_seconds_from_the_oldest_row(database, seed: Seeder, lanes):
    """It died holding the lease; the next one starts where the oldest due row is."""
    oldest = seed.job({"cron": "59 11 * * *", "timezone": "UTC"}, due_at=T0 - minutes(1))
    seed.rows("update due set shard_id = 5 returning 1")
    seed.job()
    seed.rows("insert into shard_lease values (0, 127, 'dead', 7, %s) returning token", T0 + TTL)

    assert scan(database, lanes, now=T0 + timedelta(seconds=9)).held_elsewhere
    assert scan(database, lanes, now=T0 + timedelta(seconds=11), batch=1).runs == 2

    assert (oldest, T0 - minutes(1)) in [(m.job_id, m.scheduled_for) for m in lanes.sent]
    assert seed.rows("select token from shard_lease where owner = 'one'") == [(8,)]


def test_a_finished_scan_gives_its_lease_back(database, seed: Seeder, lanes):
    scan(database, lanes, owner="first")
    assert not scan(database, lanes, owner="second").held_elsewhere


def test_the_oldest_row_of_a_shard_is_claimed_first(database, seed: Seeder):
    young = seed.job()
    old = seed.job({"cron": "59 11 * * *", "timezone": "UTC"}, due_at=T0 - minutes(1))
    seed.rows("update due set shard_id = 3 returning 1")

    claimed = database.run(
        lambda c: claim_shards(c, first_shard=0, last_shard=127, now=T0, horizon=HORIZON, per_shard=1)
    )

    assert [m.job_id for m in claimed.messages] == [old]
    assert young != old


def test_a_row_whose_lock_was_rolled_back_is_claimed_by_the_next_tick(database, conninfo, seed: Seeder, lanes):
    """SKIP LOCKED saying "nothing due" must never mean "nothing until the next known run"."""
    job_id = seed.job()
    with psycopg.connect(conninfo) as other:
        other.execute("select 1 from due for update")
        assert scan(database, lanes).runs == 0
        other.rollback()

    assert scan(database, lanes).runs == 1
    assert seed.runs() == [(job_id, T0, "queued")]


def test_one_bad_row_never_stops_the_others(database, seed: Seeder, lanes):
    good = seed.jobs(3)
    removed_zone = seed.job({"cron": "0 12 * * *", "timezone": "US/Pacific-New"})
    bad_cron = seed.job({"cron": "10 0 1-5 * 2#2 x", "timezone": "UTC"})

    assert scan(database, lanes).broken == 2

    assert {run[0] for run in seed.runs()} == set(good)
    errors = dict(seed.rows("select job_id, error from job where error is not null"))
    assert set(errors) == {removed_zone, bad_cron}
    assert "US/Pacific-New" in errors[removed_zone]


def test_a_paused_jobs_due_row_fires_nothing(database, seed: Seeder, lanes):
    seed.job(state="paused")
    assert scan(database, lanes).runs == 0
    assert seed.rows("select count(*) from due") == [(0,)]


def test_planning_a_waiting_occurrence_again_only_confirms_it(database, seed: Seeder, lanes):
    """Pause and resume inside the horizon: the same occurrence is planned twice and stays one run."""
    job_id = seed.job()
    scan(database, lanes)
    seed.rows("update job set schedule_version = 2 returning 1")
    seed.rows("update due set next_run_at = %s, scheduled_for = %s returning 1", T0, T0)

    scan(database, lanes)

    assert seed.rows("select job_id, state, schedule_version from run") == [(job_id, "queued", 2)]


def test_an_occurrence_that_already_ended_is_not_opened_again(database, seed: Seeder, lanes):
    seed.job()
    scan(database, lanes)
    seed.rows("update run set state = 'succeeded', wake_at = null returning 1")
    seed.rows("update due set next_run_at = %s, scheduled_for = %s returning 1", T0, T0)

    scan(database, lanes)

    assert [run[2] for run in seed.runs()] == ["succeeded"]


def test_an_edit_committed_between_lock_and_read_is_what_gets_planned(conninfo, seed: Seeder, lanes):
    """The locking statement's snapshot is older than the edit; the jobs are read after it."""
    from hourbell.store import claims

    job_id = seed.job()
    with psycopg.connect(conninfo) as scanner, psycopg.connect(conninfo) as editor:
        claims.lock_due_of_shards(scanner, first_shard=0, last_shard=127, until=T0, per_shard=5)
        editor.execute("update job set schedule_version = 9")
        editor.commit()
        assert claims.fetch_plannable_jobs(scanner, [job_id])[job_id].schedule_version == 9


def test_a_run_outside_every_day_partition_is_kept_and_moves_when_its_day_is_made(database, seed: Seeder, lanes):
    from hourbell.store.partitions import make_partitions

    seed.job()
    scan(database, lanes)
    assert seed.rows("select count(*) from run_default") == [(1,)]

    assert database.run(lambda c: make_partitions(c, today=T0.date(), days_ahead=1)) == 2
    assert database.run(lambda c: make_partitions(c, today=T0.date(), days_ahead=1)) == 0

    assert seed.rows("select count(*) from run_default") == [(0,)]
    assert seed.rows("select count(*) from run_20270509") == [(1,)]


def test_an_every_second_job_and_a_cron_tick_without_gap_over_five_minutes(database, seed: Seeder, lanes):
    """Ticks of the clock, one minute apart, and nothing is left out between them."""
    second = seed.job({"every": "PT1S", "anchor": "2027-05-09T12:00:00.000Z"})
    cron = seed.job({"cron": "*/20 * * * * *", "timezone": "UTC"})

    for minute in range(6):
        scan(database, lanes, now=T0 + minutes(minute), owner=f"tick {minute}")

    end = T0 + minutes(5)
    fired = [(run[0], run[1]) for run in seed.runs() if run[1] < end]
    assert [at for job, at in fired if job == second] == [T0 + timedelta(seconds=s) for s in range(300)]
    assert [at for job, at in fired if job == cron] == [T0 + timedelta(seconds=s) for s in range(0, 300, 20)]
    assert len({(m.job_id, m.scheduled_for) for m in lanes.sent}) == len(lanes.sent)


def test_a_clock_that_jumps_forward_and_back_fires_nothing_twice(database, seed: Seeder, lanes):
    seed.job({"cron": "* * * * *", "timezone": "UTC"})
    for now in (T0, T0 + minutes(120), T0 + minutes(1), T0 + minutes(2)):
        scan(database, lanes, now=now, owner=str(now))

    slots = [m.scheduled_for for m in lanes.sent]
    assert len(slots) == len(set(slots))


def test_a_message_the_lane_refuses_is_marked_for_the_reaper(database, seed: Seeder, lanes):
    seed.jobs(3)
    lanes.refuse = 2
    assert scan(database, lanes).unsent == 2
    assert seed.rows("select count(*) from run where wake_at = %s", T0) == [(2,)]


def test_max_runs_ends_a_job(database, seed: Seeder, lanes):
    seed.job({"every": "PT1S", "anchor": "2027-05-09T12:00:00.000Z", "max_runs": 5})
    scan(database, lanes)
    assert len(seed.runs()) == 5
    assert seed.rows("select state, runs_planned from job") == [("completed", 5)]


def test_many_per_second_jobs_at_once_do_not_make_one_huge_claim(database, seed: Seeder):
    """Three thousand jobs with 121 runs each inside the horizon: each claim is bounded, and nothing is left out."""
    seed.jobs(3_000, {"every": "PT1S", "anchor": "2027-05-09T12:00:00.000Z"})

    claimed = database.run(
        lambda c: claim_shards(c, first_shard=0, last_shard=127, now=T0, horizon=HORIZON, per_shard=64)
    )

    assert claimed.rows == 3_000
    assert len(claimed.messages) <= SCAN_RUNS
    assert seed.rows("select distinct next_run_at from due") == [(T0 + timedelta(seconds=SCAN_RUNS // 3_000),)]
