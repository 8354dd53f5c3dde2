"""Rate limits on a real database: exact over scanners and claims, and no other target is delayed."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from hourbell.services.claim_due import claim_shards
from hourbell.services.pace_jobs import release_target, repace_target
from hourbell.store.connection import Database

from tests.integration.engine.test_scan import HORIZON, scan
from tests.seeds import T0, RecordingLanes, Seeder, minutes

ONCE = {"at": "2027-05-09T12:00:00.000Z"}


def limit(seed: Seeder, rate: float, burst: int = 1, name: str = "slow"):
    target_id = seed.target(name)
    seed.rows(
        "update target set rate_per_second = %s, burst = %s where target_id = %s returning 1", rate, burst, target_id
    )
    return target_id


def test_ten_thousand_due_at_once_go_out_at_a_hundred_a_second(database, seed: Seeder, lanes):
    target_id = limit(seed, 100)
    seed.jobs(10_000, ONCE, target_id=target_id)

    for tick in range(2):
        scan(database, lanes, now=T0 + minutes(tick), owner=str(tick))

    starts = sorted(m.ready_at for m in lanes.sent)
    assert len(starts) == 10_000
    per_second = Counter(int((at - T0).total_seconds()) for at in starts)
    assert set(per_second) == set(range(100))
    assert all(95 <= count <= 105 for count in per_second.values())


def test_the_pace_holds_across_racing_scanners(conninfo, seed: Seeder):
    seed.jobs(2_000, ONCE, target_id=limit(seed, 50))
    lanes = RecordingLanes()

    def claim_half(first_shard: int) -> None:
        database = Database(conninfo)
        while claim := database.run(
            lambda c: claim_shards(
                c, first_shard=first_shard, last_shard=first_shard + 63, now=T0, horizon=HORIZON, per_shard=2
            )
        ):
            lanes.send(claim.messages, now=T0)
            if not claim.rows:
                break
        database.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(claim_half, (0, 64)))

    starts = sorted(m.ready_at for m in lanes.sent)
    assert starts == [T0 + timedelta(milliseconds=20 * n) for n in range(2_000)]


def test_a_burst_is_respected(database, seed: Seeder, lanes):
    seed.jobs(12, ONCE, target_id=limit(seed, 1, burst=10))
    scan(database, lanes)
    assert Counter((m.ready_at - T0).total_seconds() for m in lanes.sent) == {0: 10, 1: 1, 2: 1}


def test_another_target_is_not_delayed(database, seed: Seeder, lanes):
    seed.jobs(3_000, ONCE, target_id=limit(seed, 10))
    free = set(seed.jobs(50, ONCE))
    scan(database, lanes)
    assert {m.ready_at for m in lanes.sent if m.job_id in free} == {T0}
    assert len([m for m in lanes.sent if m.job_id in free]) == 50


def test_what_lies_past_the_horizon_stays_in_the_hot_table_and_keeps_its_moment(database, seed: Seeder, lanes):
    seed.jobs(300, ONCE, target_id=limit(seed, 1))

    for tick in range(7):
        scan(database, lanes, now=T0 + minutes(tick), owner=str(tick))
        assert len(seed.runs()) == min(300, 121 + 60 * tick)

    assert sorted(m.ready_at for m in lanes.sent) == [T0 + timedelta(seconds=n) for n in range(300)]
    assert seed.rows("select count(*) from due") == [(0,)]


def test_a_paced_occurrence_that_had_to_wait_was_not_missed(database, seed: Seeder, lanes):
    """It waited ten minutes for its target's pace: the catch-up policy has no say in that."""
    seed.jobs(601, ONCE, target_id=limit(seed, 1), catch_up='{"policy": "skip", "within": null}')
    for tick in range(12):
        scan(database, lanes, now=T0 + minutes(tick), owner=str(tick))
    assert len(seed.runs()) == 601
    assert seed.rows("select count(*) from missed") == [(0,)]


def test_a_recurring_job_is_paced_occurrence_by_occurrence(database, seed: Seeder, lanes):
    seed.job({"every": "PT1S", "anchor": "2027-05-09T12:00:00.000Z"}, target_id=limit(seed, 0.5))
    scan(database, lanes)
    starts = [m.ready_at for m in lanes.sent]
    assert starts == [T0 + timedelta(seconds=2 * n) for n in range(61)]


def repace(database, target_id, *, now):
    return database.run(lambda c: repace_target(c, target_id, now=now))


def test_a_faster_pace_takes_effect_at_once_also_for_what_waits_in_the_hot_table(database, seed: Seeder, lanes):
    target_id = limit(seed, 1)
    seed.jobs(600, ONCE, target_id=target_id)
    scan(database, lanes)
    seed.rows("update target set rate_per_second = 100 where target_id = %s returning 1", target_id)

    messages = repace(database, target_id, now=T0)

    assert len(messages) == 120  # the first was due at once
    scan(database, lanes, now=T0, owner="after")
    assert seed.rows("select count(*), max(fire_at) from run") == [(600, T0 + timedelta(seconds=5.98))]


def test_a_slower_pace_moves_what_is_under_way_already(database, seed: Seeder, lanes):
    target_id = limit(seed, 100)
    seed.jobs(101, ONCE, target_id=target_id)
    scan(database, lanes)
    seed.rows("update target set rate_per_second = 1 where target_id = %s returning 1", target_id)

    messages = repace(database, target_id, now=T0)

    assert sorted(m.ready_at for m in messages) == [T0 + timedelta(seconds=n) for n in range(100)]
    assert seed.rows("select max(next_attempt_at), max(wake_at) from run") == [
        (T0 + timedelta(seconds=99), T0 + timedelta(seconds=129))
    ]


def test_without_a_limit_what_waited_starts_at_its_own_time(database, seed: Seeder, lanes):
    target_id = limit(seed, 1)
    seed.jobs(5, ONCE, target_id=target_id)
    scan(database, lanes)
    seed.rows("update target set rate_per_second = null where target_id = %s returning 1", target_id)
    assert {m.ready_at for m in repace(database, target_id, now=T0)} == {T0}


def test_a_resumed_target_lets_its_runs_go_and_they_have_not_aged(database, seed: Seeder, lanes):
    for job_id in seed.jobs(3):
        seed.run(job_id, reason="target_paused", wake_at=T0 + minutes(10))
    resumed = T0 + minutes(60)

    messages = database.run(lambda c: release_target(c, seed.target_id, now=resumed))

    assert {m.ready_at for m in messages} == {resumed}
    assert seed.rows("select distinct fire_at, next_attempt_at, reason from run") == [(resumed, resumed, None)]


def test_a_resumed_target_keeps_its_pace(database, seed: Seeder, lanes):
    target_id = limit(seed, 2)
    for job_id in seed.jobs(4, target_id=target_id):
        seed.run(job_id, reason="target_paused", target_id=target_id)
    messages = database.run(lambda c: release_target(c, target_id, now=T0))
    assert sorted(m.ready_at for m in messages) == [T0 + timedelta(seconds=n / 2) for n in range(4)]
