"""Tenants take turns: the backlog of one does not stand before the jobs of another."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from hourbell.services import scan_shards as scanning
from hourbell.services.claim_due import claim_shards
from hourbell.services.scan_shards import FIRST_BATCH, ScanRange
from hourbell.store.connection import Database

from tests.integration.engine.test_scan import HORIZON, scan
from tests.seeds import T0, RecordingLanes, Seeder

BACKLOG = 6_000
EVERYWHERE: Any = {"first_shard": 0, "last_shard": 127, "now": T0, "horizon": HORIZON, "per_shard": 8}


@pytest.fixture
def small(seed: Seeder):
    """A second tenant."""
    return seed.tenant("small")


def places(lanes: RecordingLanes, tenant_id) -> list[int]:
    """Where the messages of a tenant stand among all."""
    return [place for place, message in enumerate(lanes.sent) if message.tenant_id == tenant_id]


@pytest.mark.parametrize("behind", [timedelta(0), timedelta(seconds=60)])
def test_ten_jobs_behind_a_backlog_of_thousands_go_out_with_its_first(database, seed: Seeder, lanes, small, behind):
    backlog = seed.jobs(BACKLOG)
    ten = seed.jobs(10, due_at=T0 + behind, tenant_id=small)

    scanned = scan(database, lanes)

    assert max(places(lanes, small)) < 2 * FIRST_BATCH  # one claim later for the third of them in one shard
    assert Counter(message.job_id for message in lanes.sent) == Counter([*backlog, *ten])
    assert (scanned.claimed_jobs, scanned.runs, scanned.drained) == (BACKLOG + 10,) * 2 + (True,)
    assert seed.rows("select count(*), count(distinct job_id) from run") == [(BACKLOG + 10,) * 2]


def test_a_tenant_does_not_wait_for_the_backlogs_of_several_others(database, seed: Seeder, lanes, small):
    for number in range(4):
        seed.jobs(2_000, tenant_id=seed.tenant(f"big {number}"))
    seed.jobs(10, due_at=T0 + timedelta(seconds=1), tenant_id=small)

    scan(database, lanes, batch=512)

    # one claim for each of those who have a backlog, at most
    assert max(places(lanes, small)) < 2 * FIRST_BATCH + 4 * 512
    assert len(lanes.sent) == 8_010


def test_a_tenant_with_few_jobs_and_many_runs_has_its_share_too(database, seed: Seeder, lanes, small):
    every_second = {"every": "PT1S", "anchor": "2027-05-09T12:00:00.000Z"}
    seed.jobs(300, every_second)
    seed.jobs(10, due_at=T0 + timedelta(seconds=1), tenant_id=small)

    scan(database, lanes)

    assert max(places(lanes, small)) < 2 * FIRST_BATCH  # one claim later for the third of them in one shard
    assert len(lanes.sent) == 300 * 121 + 10


def test_a_jobs_runs_are_sent_in_their_order(database, seed: Seeder, lanes, small):
    every_second = {"every": "PT1S", "anchor": "2027-05-09T12:00:00.000Z"}
    seed.jobs(20, every_second)
    seed.jobs(20, every_second, tenant_id=small)

    scan(database, lanes)

    by_job: dict[Any, list[Any]] = {}
    for message in lanes.sent:
        by_job.setdefault(message.job_id, []).append(message.scheduled_for)
    assert all(times == sorted(times) for times in by_job.values())
    owners = [message.tenant_id for message in lanes.sent]
    assert owners[:40] == owners[:2] * 20
    assert owners[0] != owners[1]


def test_looking_past_a_tenant_takes_the_others_alone_and_as_far_as_the_look_goes(database, seed: Seeder, small):
    seed.jobs(2_000)
    ten = seed.jobs(10, due_at=T0 + timedelta(seconds=1), tenant_id=small)

    def claimed(look_ahead: int) -> set[Any]:
        claim = database.run(lambda c: claim_shards(c, **EVERYWHERE, past=[seed.tenant_id], look_ahead=look_ahead))
        return {message.job_id for message in claim.messages}

    assert claimed(2) == set()
    assert claimed(100) == set(ten)


def test_a_row_that_another_claim_holds_is_passed_over_also_while_looking_past(conninfo, database, seed: Seeder, small):
    seed.jobs(50)
    held, *free = seed.jobs(5, tenant_id=small)

    def claim(connection):
        return claim_shards(connection, **EVERYWHERE, past=[seed.tenant_id], look_ahead=100)

    with seed.connection.transaction():
        seed.connection.execute("select 1 from due where job_id = %s for update", (held,))
        taken = database.run(claim)

    assert {message.job_id for message in taken.messages} == set(free)
    assert [message.job_id for message in database.run(claim).messages] == [held]


def test_two_scanners_in_turns_make_each_run_once(conninfo, seed: Seeder, small):
    seed.jobs(4_000)
    seed.jobs(500, tenant_id=small)
    lanes = RecordingLanes()

    def scan_half(first_shard: int) -> None:
        database = Database(conninfo)
        scan(
            database,
            lanes,
            shards=ScanRange(first_shard=first_shard, last_shard=first_shard + 63),
            owner=str(first_shard),
        )
        database.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(scan_half, (0, 64)))

    assert len({message.job_id for message in lanes.sent}) == len(lanes.sent) == 4_500
    assert seed.rows("select count(*) from run") == [(4_500,)]


def test_what_waited_to_be_sent_with_the_others_is_sent_when_the_time_is_up(database, seed: Seeder, lanes, small):
    seed.jobs(1_000)
    seed.jobs(10, tenant_id=small)
    ticks = iter([True])

    scanned = scanning.scan_shards(
        database,
        lanes,
        ScanRange(first_shard=0, last_shard=127),
        owner="one",
        horizon=HORIZON,
        time_left=lambda: next(ticks, False),
        now=T0,
    )

    assert not scanned.drained
    assert len(lanes.sent) == scanned.runs > 0
