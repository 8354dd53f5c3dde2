"""Quotas of runs on a real database: exact over claims and scanners, nothing lost, nobody else delayed."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import pairwise

from hourbell.domain.quotas import minute_of
from hourbell.services.claim_due import claim_jobs
from hourbell.services.scan_shards import ScanRange
from hourbell.store.connection import Database

from tests.integration.engine.test_scan import HORIZON, scan
from tests.seeds import T0, RecordingLanes, Seeder, minutes

ONCE = {"at": "2027-05-09T12:00:00.000Z"}


def limit(seed: Seeder, runs: int, tenant_id=None):
    tenant_id = tenant_id or seed.tenant_id
    seed.rows("update tenant set max_runs_per_minute = %s where tenant_id = %s returning 1", runs, tenant_id)


def per_minute(lanes: RecordingLanes) -> dict[float, int]:
    found = Counter((minute_of(message.ready_at) - T0) / minutes(1) for message in lanes.sent)
    return dict(sorted(found.items()))


def test_what_is_more_than_a_minute_may_hold_starts_in_the_minutes_after_it(database, seed: Seeder, lanes):
    limit(seed, 100)
    jobs = seed.jobs(450, ONCE)

    for tick in range(5):
        scan(database, lanes, now=T0 + minutes(tick), owner=str(tick))

    assert per_minute(lanes) == {0: 100, 1: 100, 2: 100, 3: 100, 4: 50}
    assert Counter(message.job_id for message in lanes.sent) == Counter(jobs)
    assert seed.rows("select count(*) from due") == [(0,)]
    assert seed.rows("select count(*) from missed") == [(0,)]
    assert all(state == "queued" for _, _, state in seed.runs())


def test_a_tenant_within_its_quota_is_on_time_in_whatever_order_its_jobs_are_planned(database, seed: Seeder, lanes):
    limit(seed, 100)
    late = seed.job(due_at=T0 + timedelta(seconds=100))
    early = seed.job(due_at=T0 + timedelta(seconds=5))

    for job_id in (late, early):
        lanes.send(database.run(lambda c, one=job_id: claim_jobs(c, [one], now=T0, horizon=HORIZON)), now=T0)

    assert [(m.job_id, m.ready_at) for m in lanes.sent] == [
        (late, T0 + timedelta(seconds=100)),
        (early, T0 + timedelta(seconds=5)),
    ]


def test_the_quota_holds_across_racing_scanners(conninfo, seed: Seeder):
    limit(seed, 300)
    seed.jobs(700, ONCE)
    lanes = RecordingLanes()

    def scan_half(first_shard: int) -> None:
        database = Database(conninfo)
        scan(
            database,
            lanes,
            shards=ScanRange(first_shard=first_shard, last_shard=first_shard + 63),
            owner=str(first_shard),
            batch=64,
        )
        database.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(scan_half, (0, 64)))

    assert per_minute(lanes) == {0: 300, 1: 300, 2: 1}  # the horizon ends with the first moment of the third
    assert seed.rows("select sum(runs) from tenant_minute") == [(700,)]


def test_another_tenant_is_not_delayed(database, seed: Seeder, lanes):
    limit(seed, 10)
    seed.jobs(500, ONCE)
    other = seed.tenant("other")
    seed.jobs(50, ONCE, tenant_id=other)

    scan(database, lanes)

    assert Counter(m.ready_at for m in lanes.sent if m.tenant_id == other) == {T0: 50}


def test_the_pace_of_a_target_holds_within_the_quota_of_its_tenant(database, seed: Seeder, lanes):
    limit(seed, 60)
    seed.rows("update target set rate_per_second = 2, burst = 1 where target_id = %s returning 1", seed.target_id)
    seed.jobs(150, ONCE)

    for tick in range(4):
        scan(database, lanes, now=T0 + minutes(tick), owner=str(tick))

    starts = sorted(message.ready_at for message in lanes.sent)
    assert len(starts) == 150
    assert all(after - before >= timedelta(seconds=0.499) for before, after in pairwise(starts))
    assert max(per_minute(lanes).values()) <= 60


def test_minutes_that_have_gone_by_are_forgotten(database, seed: Seeder, lanes):
    limit(seed, 100)
    seed.jobs(5, ONCE)
    scan(database, lanes)
    seed.jobs(5, due_at=T0 + minutes(30))

    scan(database, lanes, now=T0 + minutes(30), owner="two")

    assert seed.rows("select minute, runs from tenant_minute") == [(T0 + minutes(30), 5)]
