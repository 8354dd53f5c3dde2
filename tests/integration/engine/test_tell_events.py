"""What users are told: every way in which a run dies, and a job paused by its target, told at least once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hourbell.domain.ids import encode
from hourbell.domain.outcome import AttemptOutcome, AttemptResult
from hourbell.lanes.bus import BusEvent
from hourbell.services.control_runs import fail_run
from hourbell.services.reap_runs import reap_runs
from hourbell.services.tell_events import Told, tell_events
from hourbell.store.connection import Database
from hourbell.store.tenant_database import Actor, TenantDatabase

from tests.integration.engine.test_execute_batch import BAD_REQUEST, PAST, UNAVAILABLE, Bench
from tests.seeds import RecordingLanes, Seeder

GONE = AttemptResult(
    outcome=AttemptOutcome.FAILED, retryable=False, gone=True, status_code=410, error="HTTP 410: moved out"
)
ONE_ATTEMPT = '{"max_attempts": 1}'


@dataclass
class Bus:
    """A bus in memory, which may refuse."""

    put_events: list[BusEvent] = field(default_factory=list)
    refuses: bool = False

    def put(self, events: Sequence[BusEvent]) -> set[UUID]:
        if self.refuses:
            return set()
        self.put_events += events
        return {event.event_id for event in events}


@pytest.fixture
def bus() -> Bus:
    return Bus()


@pytest.fixture
def bench(postgres, database_name, lanes: RecordingLanes) -> Bench:
    """As the worker's own role."""
    return Bench(postgres.conninfo(database=database_name, user="hourbell_worker"), lanes)


@pytest.fixture
def scanner(postgres, database_name) -> Iterator[Database]:
    opened = Database(postgres.conninfo(database=database_name, user="hourbell_scanner"))
    yield opened
    opened.close()


@pytest.fixture
def tenant(postgres, database_name, seed: Seeder) -> Iterator[Database]:
    """As the API's own role."""
    api = Database(postgres.conninfo(database=database_name, user="hourbell_api"))
    yield TenantDatabase(api, Actor(tenant_id=seed.tenant_id, key_id=seed.tenant_id, request_id="r"))
    api.close()


def tell(database: Database, bus: Any, **options: Any) -> Told:
    return tell_events(database, bus, time_left=lambda: True, **options)


def running(seed: Seeder, **columns: Any) -> dict[str, Any]:
    return {"state": "running", "attempt": 1, "lease_token": seed.tenant_id, "lease_expires_at": PAST, **columns}


def die(bench: Bench, seed: Seeder, answer: AttemptResult, **job: Any) -> None:
    bench.target.answer = answer
    bench.work(seed.run(seed.job(**job), PAST))


def test_every_way_to_die_is_told(bench: Bench, scanner, tenant, seed: Seeder, bus: Bus):
    die(bench, seed, BAD_REQUEST)
    die(bench, seed, UNAVAILABLE, retry=ONE_ATTEMPT)
    die(bench, seed, UNAVAILABLE)  # older than its max_age
    seed.run(seed.job(retry=ONE_ATTEMPT), PAST, **running(seed, wake_at=PAST))
    reap_runs(scanner, bench.lanes, time_left=lambda: True)
    message = seed.run(seed.job(), PAST, **running(seed, wake_at=PAST + timedelta(days=9_000)))
    (run_id,) = seed.rows("select run_id from run where job_id = %s", message.job_id)[0]
    given = {"token": seed.tenant_id, "error": "no paper", "retryable": False, "now": PAST}
    fail_run(tenant, bench.lanes, seed.tenant_id, run_id, **given)

    told = tell(scanner, bus)

    assert told.sent == {"run.dead": 5}
    assert told.oldest_seconds == 0.0
    dead = seed.rows("select run_id, reason from run where state = 'dead'")
    assert len(dead) == 5
    assert {(e.detail["run_id"], e.detail["reason"]) for e in bus.put_events} == {
        (encode("run", run), reason) for run, reason in dead
    }
    assert {reason for _, reason in dead} == {"refused_by_target", "attempts_exhausted", "max_age"}
    assert {e.kind for e in bus.put_events} == {"run.dead"}
    assert {e.detail["tenant_id"] for e in bus.put_events} == {encode("ten", seed.tenant_id)}


def test_a_run_that_goes_on_is_not_told(bench: Bench, scanner, seed: Seeder, bus: Bus):
    bench.work(seed.run(seed.job(), PAST))
    assert tell(scanner, bus).sent == {}


def test_an_event_is_told_once_and_then_forgotten(bench: Bench, scanner, seed: Seeder, bus: Bus):
    die(bench, seed, BAD_REQUEST)
    assert (tell(scanner, bus).sent.total(), tell(scanner, bus).sent.total()) == (1, 0)
    assert seed.rows("select * from event_outbox") == []


def test_a_bus_that_refuses_gets_the_event_later(bench: Bench, scanner, seed: Seeder, bus: Bus):
    die(bench, seed, BAD_REQUEST)
    ((recorded_at,),) = seed.rows("select recorded_at from event_outbox")
    bus.refuses = True
    told = tell(scanner, bus, now=recorded_at + timedelta(minutes=5))
    assert (told.sent, told.oldest_seconds) == ({}, 300.0)
    bus.refuses = False
    assert tell(scanner, bus, now=recorded_at + timedelta(minutes=5, seconds=59)).sent == {}
    assert tell(scanner, bus, now=recorded_at + timedelta(minutes=6)).sent.total() == 1


def test_a_crash_between_the_bus_and_the_outbox_tells_again_and_loses_nothing(
    bench: Bench, scanner, seed: Seeder, bus: Bus
):
    class Killed(BaseException):
        pass

    class DeadlyBus:
        def put(self, events: Sequence[BusEvent]) -> set[UUID]:
            bus.put(events)
            raise Killed

    die(bench, seed, BAD_REQUEST)
    with pytest.raises(Killed):
        tell(scanner, DeadlyBus())
    seed.rows("update event_outbox set taken_until = taken_until - interval '1 minute' returning 1")
    tell(scanner, bus)
    first, second = bus.put_events
    assert first.event_id == second.event_id


def test_a_target_that_is_gone_pauses_its_job(bench: Bench, scanner, seed: Seeder, bus: Bus):
    die(bench, seed, GONE)
    assert seed.rows("select state, note, version from job") == [("paused", "its target answered 410 Gone", 2)]
    assert seed.rows("select state, reason from run") == [("dead", "refused_by_target")]
    assert seed.rows("select next_run_at = 'infinity' from due") == [(True,)]
    assert tell(scanner, bus).sent == {"run.dead": 1, "job.paused": 1}
    (paused,) = [event for event in bus.put_events if event.kind == "job.paused"]
    assert (paused.detail["reason"], paused.detail["error"]) == ("target_gone", "HTTP 410: moved out")


def test_a_job_that_was_given_another_target_meanwhile_goes_on(bench: Bench, seed: Seeder):
    message = seed.run(seed.job(), PAST)
    other = seed.target("other")

    async def edit_and_answer(run: Any) -> AttemptResult:
        bench.target.calls.append(run)
        seed.rows("update job set target_id = %s returning 1", other)
        return GONE

    bench.target.execute = edit_and_answer  # type: ignore[method-assign]
    bench.work(message)
    assert seed.rows("select state from job") == [("active",)]


def test_a_gone_target_that_answers_too_late_pauses_nothing(bench: Bench, seed: Seeder):
    message = seed.run(seed.job(), PAST)

    async def lose_and_answer(run: Any) -> AttemptResult:
        seed.rows("update run set lease_token = gen_random_uuid() returning 1")
        return GONE

    bench.target.execute = lose_and_answer  # type: ignore[method-assign]
    bench.work(message)
    assert seed.rows("select state from job") == [("active",)]
    assert seed.rows("select * from event_outbox") == []


def test_two_workers_whose_targets_are_gone_do_not_deadlock(bench: Bench, seed: Seeder):
    jobs = seed.jobs(6)
    runs = [seed.run(job_id, PAST + timedelta(minutes=minute)) for minute in range(2) for job_id in jobs]
    bench.target.answer = GONE

    async def race() -> None:
        from hourbell.services.execute_batch import execute_batch

        from tests.integration.engine.test_execute_batch import deliveries

        halves = (runs[:6], runs[6:][::-1])
        await asyncio.gather(*(execute_batch(bench.executor(), deliveries(*half)) for half in halves))

    asyncio.run(bench.closing(race()))
    assert {row[0] for row in seed.rows("select state from job")} == {"paused"}
