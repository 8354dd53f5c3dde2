"""Concurrency limits on a real database: never one too many, oldest first, nothing lost when a holder dies."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hourbell.domain.outcome import AttemptResult
from hourbell.lanes.messages import LaneMessage
from hourbell.services.execute_batch import Executor, execute_batch
from hourbell.services.reap_runs import reap_runs
from hourbell.store.executions import LeasedRun

from tests.integration.engine.test_execute_batch import OK, PAST, UNAVAILABLE, Bench, deliveries
from tests.seeds import RecordingLanes, Seeder


@pytest.fixture
def bench(conninfo: str, lanes: RecordingLanes) -> Bench:
    return Bench(conninfo, lanes)


def messages(seed: Seeder, count: int, limit: int) -> list[LaneMessage]:
    """Runs of as many jobs on one limited target, a second apart."""
    seed.rows("update target set max_concurrency = %s returning 1", limit)
    return [seed.run(seed.job(), PAST + timedelta(seconds=second)) for second in range(count)]


def states(seed: Seeder) -> list[Any]:
    return seed.rows("select state, reason, attempt from run order by fire_at")


def test_a_run_without_a_slot_waits_and_uses_no_attempt_and_no_receive(bench: Bench, seed: Seeder):
    first, second = messages(seed, 2, limit=1)

    async def scenario() -> set[str]:
        bench.target.gate, bench.target.entered = asyncio.Event(), asyncio.Event()
        work = asyncio.create_task(execute_batch(bench.executor(), deliveries(first)))
        await bench.target.entered.wait()
        report = await execute_batch(bench.executor(), deliveries(second))
        assert states(seed) == [("running", None, 1), ("queued", "no_slot", 0)]
        assert bench.lanes.sent == []
        bench.target.gate.set()
        await work
        return report.failed

    assert asyncio.run(bench.closing(scenario())) == set()
    # its slot was offered to the one that waited, at once
    (offer,) = bench.lanes.take()
    assert offer.job_id == second.job_id
    bench.work(offer)
    assert states(seed) == [("succeeded", None, 1), ("succeeded", None, 1)]


def test_a_retry_after_the_limit_was_lifted_holds_no_slot(bench: Bench, seed: Seeder):
    seed.rows("update target set max_concurrency = 1 returning 1")
    message = seed.run(seed.job(), datetime.now(UTC) - timedelta(seconds=1))
    bench.target.answer = UNAVAILABLE
    bench.work(message)
    assert seed.rows("select state, limited from run") == [("retrying", True)]
    seed.rows("update target set max_concurrency = null returning 1")

    seed.rows("update run set next_attempt_at = %s returning 1", PAST)
    bench.work(message)

    assert seed.rows("select attempt, limited from run") == [(2, False)]


def test_a_batch_takes_no_more_slots_than_there_are_oldest_first(bench: Bench, seed: Seeder):
    made = messages(seed, 5, limit=2)
    bench.work(*reversed(made))
    assert [state for state, _, _ in states(seed)] == ["succeeded", "succeeded", "queued", "queued", "queued"]
    assert [m.job_id for m in bench.lanes.take()] == [m.job_id for m in made[2:4]]


def test_a_younger_run_does_not_overtake_one_that_waits(bench: Bench, seed: Seeder):
    old, young = messages(seed, 2, limit=1)
    seed.rows("update run set reason = 'no_slot' where job_id = %s returning 1", old.job_id)
    bench.work(young)
    assert states(seed) == [("queued", "no_slot", 0), ("queued", "no_slot", 0)]


def test_racing_workers_never_exceed_the_limit_and_all_runs_end(bench: Bench, seed: Seeder):
    """Twelve runs, three slots, four workers at once; every message that is sent is delivered."""
    waiting = messages(seed, 12, limit=3)
    running, most = 0, 0

    async def watch(run: LeasedRun) -> AttemptResult:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(20):
            await asyncio.sleep(0)
        running -= 1
        return OK

    async def worker(executor: Executor) -> None:
        while waiting:
            taken = [waiting.pop() for _ in range(min(3, len(waiting)))]
            await execute_batch(executor, deliveries(*taken))
            waiting.extend(bench.lanes.take())

    async def race() -> None:
        executors = [bench.executor() for _ in range(4)]
        made = [Executor(database=e.database, lanes=e.lanes, execute=watch, clock=e.clock) for e in executors]
        async with asyncio.timeout(60):
            while waiting:
                await asyncio.gather(*(worker(executor) for executor in made))
                waiting.extend(bench.lanes.take())

    asyncio.run(bench.closing(race()))
    assert most <= 3
    assert {state for state, _, _ in states(seed)} == {"succeeded"}


def test_a_dead_holders_slot_is_free_when_its_lease_ends(database, bench: Bench, seed: Seeder):
    _, waiting = messages(seed, 2, limit=1)
    end = PAST + timedelta(minutes=1)
    seed.rows(
        "update run set state = 'running', limited = true, attempt = 1, lease_token = gen_random_uuid(), "
        "lease_expires_at = %s, wake_at = %s where job_id <> %s returning 1",
        end,
        end,
        waiting.job_id,
    )
    seed.rows(
        "update run set reason = 'no_slot', wake_at = %s where job_id = %s returning 1",
        end + timedelta(hours=1),
        waiting.job_id,
    )

    reap_runs(database, bench.lanes, time_left=lambda: True, now=end)

    assert waiting.job_id in {m.job_id for m in bench.lanes.sent}


def test_an_offer_that_was_lost_is_made_again(database, bench: Bench, seed: Seeder):
    (waiting,) = messages(seed, 1, limit=1)
    seed.rows("update run set reason = 'slot_offered', wake_at = %s returning 1", PAST)

    reap_runs(database, bench.lanes, time_left=lambda: True, now=PAST + timedelta(seconds=1))

    assert [m.job_id for m in bench.lanes.sent] == [waiting.job_id]


def test_runs_that_wait_for_a_slot_are_not_taken_for_lost(database, bench: Bench, seed: Seeder):
    """A thousand wait for one busy slot: the reaper sends none of them."""
    messages(seed, 50, limit=1)
    seed.rows("update run set reason = 'no_slot' returning 1")
    seed.rows(
        "update run set state = 'running', reason = null, limited = true, lease_token = gen_random_uuid(), "
        "lease_expires_at = %s, wake_at = %s where fire_at = %s returning 1",
        PAST + timedelta(hours=9),
        PAST + timedelta(hours=9),
        PAST,
    )
    for minute in range(2, 12):
        reap_runs(database, bench.lanes, time_left=lambda: True, now=PAST + timedelta(minutes=minute))
    assert bench.lanes.sent == []
