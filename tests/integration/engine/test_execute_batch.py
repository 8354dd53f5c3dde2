"""The worker on a real database: each run is executed by one worker at a time, and only its own outcome counts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from hourbell.domain.outcome import AttemptOutcome, AttemptResult
from hourbell.domain.run_state import Lane
from hourbell.lanes.deliveries import Delivery
from hourbell.lanes.messages import LaneMessage
from hourbell.services.execute_batch import BatchReport, Executor, Visibility, execute_batch
from hourbell.store import executions
from hourbell.store.connection import Database
from hourbell.store.executions import LeasedRun

from tests.seeds import RecordingLanes, Seeder

PAST = datetime(2026, 5, 9, 12, 0, tzinfo=UTC)  # due by any clock: the database's decides here

OK = AttemptResult(outcome=AttemptOutcome.SUCCEEDED, status_code=200, duration_ms=3)
UNAVAILABLE = AttemptResult(outcome=AttemptOutcome.FAILED, retryable=True, status_code=503, error="HTTP 503")
BAD_REQUEST = AttemptResult(outcome=AttemptOutcome.FAILED, retryable=False, status_code=400, error="HTTP 400")


@dataclass
class Target:
    """A target in memory: counts its calls, answers as told, and may wait until it is let go."""

    answer: AttemptResult = OK
    calls: list[LeasedRun] = field(default_factory=list)
    gate: asyncio.Event | None = None
    entered: asyncio.Event | None = None

    async def execute(self, run: LeasedRun) -> AttemptResult:
        self.calls.append(run)
        if self.entered is not None:
            self.entered.set()
        if self.gate is not None:
            await self.gate.wait()
        return self.answer


@dataclass
class Bench:
    conninfo: str
    lanes: RecordingLanes
    target: Target = field(default_factory=Target)
    databases: list[Database] = field(default_factory=list)

    def executor(self, **kwargs: Any) -> Executor:
        database = Database(self.conninfo)
        self.databases.append(database)
        return Executor(
            database=database, lanes=self.lanes, execute=self.target.execute, clock=lambda: datetime.now(UTC), **kwargs
        )

    def work(self, *messages: LaneMessage) -> BatchReport:
        return asyncio.run(self.closing(execute_batch(self.executor(), deliveries(*messages))))

    async def closing(self, work: Any) -> Any:
        try:
            return await work
        finally:
            for database in self.databases:
                await database.close_async()


def deliveries(*messages: LaneMessage) -> list[Delivery]:
    return [Delivery(message_id=f"m{index}", message=message) for index, message in enumerate(messages)]


@pytest.fixture
def bench(conninfo: str, lanes: RecordingLanes) -> Iterator[Bench]:
    return Bench(conninfo, lanes)


def run_row(seed: Seeder, columns: str) -> tuple[Any, ...]:
    (row,) = seed.rows(f"select {columns} from run")  # noqa: S608 - the test's own columns
    return row


def test_a_due_run_is_executed_and_recorded_with_its_attempt(bench: Bench, seed: Seeder):
    message = seed.run(seed.job(payload='{"n": 1}'), PAST)

    report = bench.work(message)

    assert report.failed == set()
    assert [run.payload for run in bench.target.calls] == ['{"n": 1}']
    assert run_row(seed, "state, attempt, lease_token, wake_at") == ("succeeded", 1, None, None)
    assert seed.rows("select number, outcome, status_code, finished_at is not null from attempt") == [
        (1, "succeeded", 200, True)
    ]


def test_a_duplicate_delivery_executes_once(bench: Bench, seed: Seeder):
    message = seed.run(seed.job(), PAST)
    bench.work(message, message)
    bench.work(message)
    assert len(bench.target.calls) == 1


@pytest.mark.parametrize("overlap", ["allow", "skip"], ids=["free", "contended"])
def test_a_run_that_killed_its_worker_does_not_start_beside_that_workers_other_runs(
    bench: Bench, seed: Seeder, overlap: str
):
    """The dead worker's batch comes back to the shared lane, when the reaper has moved the run to the solo lane."""
    message = seed.run(seed.job(overlap=overlap), PAST, state="retrying", lane="solo", attempt=1)

    report = bench.work(message._replace(lane=Lane.SHARED))
    assert (bench.target.calls, report.failed, run_row(seed, "state, attempt")) == ([], set(), ("retrying", 1))

    bench.work(message)
    assert run_row(seed, "state, attempt") == ("succeeded", 2)


def test_two_workers_racing_for_one_message_execute_it_once(bench: Bench, seed: Seeder):
    message = seed.run(seed.job(), PAST)

    async def race() -> None:
        await asyncio.gather(*(execute_batch(bench.executor(), deliveries(message)) for _ in range(4)))

    asyncio.run(bench.closing(race()))
    assert len(bench.target.calls) == 1
    assert run_row(seed, "attempt") == (1,)


def test_an_outcome_with_an_old_token_is_refused(bench: Bench, seed: Seeder):
    """The worker was frozen past its lease, somebody else took over: what it writes changes nothing."""
    message = seed.run(seed.job(), PAST)

    async def scenario() -> BatchReport:
        bench.target.gate, bench.target.entered = asyncio.Event(), asyncio.Event()
        slow = asyncio.create_task(execute_batch(bench.executor(), deliveries(message)))
        await bench.target.entered.wait()
        seed.rows("update run set lease_token = gen_random_uuid() returning 1")
        bench.target.gate.set()
        return await slow

    report = asyncio.run(bench.closing(scenario()))

    assert run_row(seed, "state, attempt") == ("running", 1)
    assert report.attempts == []
    assert seed.rows("select outcome from attempt") == [(None,)]


def test_a_lost_lease_cancels_the_attempt(bench: Bench, seed: Seeder):
    message = seed.run(seed.job(), PAST)

    async def scenario() -> BatchReport:
        bench.target.gate, bench.target.entered = asyncio.Event(), asyncio.Event()
        executor = bench.executor(heartbeat=timedelta(milliseconds=20))
        work = asyncio.create_task(execute_batch(executor, deliveries(message)))
        await bench.target.entered.wait()
        seed.rows("update run set lease_token = gen_random_uuid() returning 1")
        return await asyncio.wait_for(work, 5)

    report = asyncio.run(bench.closing(scenario()))
    assert report.attempts == []
    assert run_row(seed, "state") == ("running",)


def test_the_heartbeat_extends_the_lease_while_the_target_works(bench: Bench, seed: Seeder):
    message = seed.run(seed.job(), PAST)

    async def scenario() -> None:
        bench.target.gate, bench.target.entered = asyncio.Event(), asyncio.Event()
        executor = bench.executor(heartbeat=timedelta(milliseconds=10))
        work = asyncio.create_task(execute_batch(executor, deliveries(message)))
        await bench.target.entered.wait()
        first = run_row(seed, "lease_expires_at")
        async with asyncio.timeout(5):
            while run_row(seed, "lease_expires_at") == first:
                await asyncio.sleep(0)
        bench.target.gate.set()
        await work

    asyncio.run(bench.closing(scenario()))
    assert run_row(seed, "state") == ("succeeded",)


def test_the_heartbeat_keeps_the_message_of_a_long_run_before_its_visibility_ends(bench: Bench, seed: Seeder):
    long, short = (seed.run(seed.job(), PAST) for _ in range(2))
    batch = [Delivery(message_id=m, message=one, receipt=m) for m, one in (("long", long), ("short", short))]
    kept: list[tuple[Lane, list[str], int]] = []
    now = datetime.now(UTC)
    short_ended = asyncio.Event()

    async def execute(run: LeasedRun) -> AttemptResult:
        nonlocal now
        if run.job_id == short.job_id:
            short_ended.set()
        else:
            await short_ended.wait()
            await asyncio.sleep(0)
            now += timedelta(seconds=60)  # three heartbeats are left of the message's time
            async with asyncio.timeout(30):
                while not kept:
                    await asyncio.sleep(0)
        return OK

    async def scenario() -> None:
        visibility = Visibility(term=timedelta(seconds=60.05), keep=lambda *given: kept.append(given))
        executor = replace(
            bench.executor(heartbeat=timedelta(milliseconds=20), visibility=visibility),
            execute=execute,
            clock=lambda: now,
        )
        await execute_batch(executor, batch)

    asyncio.run(bench.closing(scenario()))
    assert kept == [(Lane.SHARED, ["long"], 61)]
    assert [state for _, _, state in seed.runs()] == ["succeeded", "succeeded"]


def test_a_failed_attempt_is_sent_again_with_the_same_run(bench: Bench, seed: Seeder):
    bench.target.answer = UNAVAILABLE
    message = seed.run(seed.job(), datetime.now(UTC) - timedelta(seconds=1))

    bench.work(message)

    state, attempt, next_attempt_at, wake_at = run_row(seed, "state, attempt, next_attempt_at, wake_at")
    assert (state, attempt) == ("retrying", 1)
    (sent,) = bench.lanes.sent
    assert (sent.job_id, sent.scheduled_for, sent.ready_at) == (message.job_id, message.scheduled_for, next_attempt_at)
    assert wake_at == next_attempt_at + timedelta(seconds=30)


def test_how_late_a_run_started_is_told_once(bench: Bench, seed: Seeder):
    bench.target.answer = UNAVAILABLE
    message = seed.run(seed.job(), datetime.now(UTC) - timedelta(seconds=5))

    first = bench.work(message)
    seed.rows("update run set fire_at = now(), next_attempt_at = %s returning 1", PAST)  # as a pause of its target does
    retry = bench.work(message)

    assert [5_000 <= attempt.lateness_ms < 65_000 for attempt in first.attempts] == [True]
    assert [attempt.lateness_ms for attempt in retry.attempts] == [None]


def test_a_far_retry_waits_for_the_reaper_and_sends_nothing(bench: Bench, seed: Seeder):
    bench.target.answer = AttemptResult(
        outcome=AttemptOutcome.FAILED, retryable=True, status_code=503, retry_after=timedelta(hours=2)
    )
    bench.work(seed.run(seed.job(), datetime.now(UTC) - timedelta(seconds=1)))

    assert bench.lanes.sent == []
    next_attempt_at, wake_at = run_row(seed, "next_attempt_at, wake_at")
    assert wake_at == next_attempt_at - timedelta(seconds=90)


def test_the_attempt_limit_makes_a_run_dead(bench: Bench, seed: Seeder):
    bench.target.answer = UNAVAILABLE
    bench.work(seed.run(seed.job(), datetime.now(UTC) - timedelta(seconds=1), attempt=2))
    assert run_row(seed, "state, reason, attempt, error") == ("dead", "attempts_exhausted", 3, "HTTP 503")
    assert bench.lanes.sent == []


def test_an_answer_that_no_retry_can_cure_makes_a_run_dead_at_once(bench: Bench, seed: Seeder):
    bench.target.answer = BAD_REQUEST
    bench.work(seed.run(seed.job(), PAST))
    assert run_row(seed, "state, attempt") == ("dead", 1)


def test_a_paused_job_is_silent_also_when_its_run_was_in_the_lane(bench: Bench, seed: Seeder):
    bench.work(seed.run(seed.job(state="paused"), PAST))
    assert bench.target.calls == []
    assert run_row(seed, "state, reason") == ("skipped", "paused")


def test_a_paused_job_can_still_be_triggered(bench: Bench, seed: Seeder):
    bench.work(seed.run(seed.job(state="paused"), PAST, origin="trigger", payload='{"now": true}'))
    assert [run.payload for run in bench.target.calls] == ['{"now": true}']


def test_a_run_its_user_skipped_is_silent_also_when_its_message_comes(bench: Bench, seed: Seeder):
    message = seed.run(seed.job(), PAST, state="skipped", reason="skipped_by_user", wake_at=None)
    report = bench.work(message)
    assert (report.failed, bench.target.calls) == (set(), [])
    assert run_row(seed, "state, reason, attempt") == ("skipped", "skipped_by_user", 0)


def test_a_deleted_jobs_run_is_cancelled(bench: Bench, seed: Seeder):
    bench.work(seed.run(seed.job(state="deleted"), PAST))
    assert bench.target.calls == []
    assert run_row(seed, "state, reason") == ("cancelled", "deleted")


def test_a_run_of_the_old_schedule_is_cancelled(bench: Bench, seed: Seeder):
    """Edited on Friday night to weekdays only; Saturday's message was already on its way."""
    saturday = datetime(2026, 5, 9, 7, 0, tzinfo=UTC)
    job_id = seed.job({"cron": "0 7 * * 1-5", "timezone": "UTC"}, schedule_version=2)
    bench.work(seed.run(job_id, saturday))
    assert bench.target.calls == []
    assert run_row(seed, "state, reason") == ("cancelled", "rescheduled")


def test_a_run_the_edited_schedule_still_has_is_executed(bench: Bench, seed: Seeder):
    job_id = seed.job({"cron": "0 12 * * 6", "timezone": "UTC"}, schedule_version=2)
    bench.work(seed.run(job_id, PAST))
    assert run_row(seed, "state") == ("succeeded",)


def test_the_edit_of_a_payload_is_in_the_very_next_delivery(bench: Bench, seed: Seeder):
    job_id = seed.job(payload='{"v": 1}')
    message = seed.run(job_id, PAST)
    seed.rows("""update job set payload = '{"v": 2}' returning 1""")
    bench.work(message)
    assert bench.target.calls[0].payload == '{"v": 2}'


def test_a_message_is_held_until_its_moment(bench: Bench, seed: Seeder):
    soon = datetime.now(UTC) + timedelta(milliseconds=150)
    bench.work(seed.run(seed.job(), soon))
    (started_at,) = run_row(seed, "started_at")
    assert started_at >= soon


def test_a_duplicate_of_the_first_delivery_does_not_bring_the_retry_forward(bench: Bench, seed: Seeder):
    later = datetime.now(UTC) + timedelta(minutes=5)
    message = seed.run(seed.job(), PAST, state="retrying", attempt=1, next_attempt_at=later)
    early = LaneMessage(
        job_id=message.job_id,
        scheduled_for=PAST,
        tenant_id=message.tenant_id,
        lane=message.lane,
        ready_at=PAST,
    )
    report = bench.work(early)
    assert bench.target.calls == []
    assert report.failed == set()


def test_a_run_of_a_paused_target_waits_without_an_attempt(bench: Bench, seed: Seeder):
    seed.rows("update target set state = 'paused' returning 1")
    bench.work(seed.run(seed.job(), PAST))
    state, attempt, later = run_row(seed, "state, attempt, wake_at > now() + interval '50 s'")
    assert (state, attempt, later) == ("queued", 0, True)


def test_an_outcome_that_could_not_be_recorded_brings_the_message_back(bench: Bench, seed: Seeder, conninfo: str):
    message = seed.run(seed.job(), PAST)

    async def drop_the_table(run: LeasedRun) -> AttemptResult:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            connection.execute("alter table attempt rename to lost")
        return OK

    executor = Executor(
        database=Database(conninfo), lanes=bench.lanes, execute=drop_the_table, clock=lambda: datetime.now(UTC)
    )
    bench.databases.append(executor.database)
    report = asyncio.run(bench.closing(execute_batch(executor, deliveries(message))))

    assert report.failed == {"m0"}
    assert run_row(seed, "state") == ("running",)


@pytest.mark.parametrize("sqlstate", ["25006", "57P01", "08006", "40P01", "40001"])
def test_a_failover_under_a_completion_repeats_the_whole_transaction(
    bench: Bench, seed: Seeder, sqlstate: str, monkeypatch: pytest.MonkeyPatch
):
    """The pooled connection points at a reader, or is gone: the outcome still lands, no attempt counts twice."""
    message = seed.run(seed.job(), PAST)
    real, failures = executions.complete_runs, [sqlstate]

    async def flaky(connection: Any, *args: Any, **kwargs: Any) -> Any:
        if failures:
            raise psycopg.errors.lookup(failures.pop())("injected")
        return await real(connection, *args, **kwargs)

    monkeypatch.setattr(executions, "complete_runs", flaky)
    report = bench.work(message)

    assert report.failed == set()
    assert run_row(seed, "state, attempt") == ("succeeded", 1)
    assert len(bench.target.calls) == 1


# --- overlap ---


def beats(seed: Seeder, overlap: str, count: int = 2, **columns: Any) -> list[LaneMessage]:
    """Runs of one job, a second apart, all due."""
    job_id = seed.job({"every": "PT1S", "anchor": "2020-01-01T00:00:00Z"}, overlap=overlap, **columns)
    return [seed.run(job_id, PAST + timedelta(seconds=second)) for second in range(count)]


def states(seed: Seeder) -> list[tuple[str, str | None]]:
    return seed.rows("select state, reason from run order by scheduled_for")


async def while_the_first_runs(bench: Bench, messages: list[LaneMessage], then: Any) -> None:
    """The first run sits in its target; then something happens; then it is let go."""
    bench.target.gate, bench.target.entered = asyncio.Event(), asyncio.Event()
    first = asyncio.create_task(execute_batch(bench.executor(), deliveries(messages[0])))
    await bench.target.entered.wait()
    await then()
    bench.target.gate.set()
    await first


def test_overlap_allow_runs_them_side_by_side(bench: Bench, seed: Seeder):
    bench.work(*beats(seed, "allow", 3))
    assert len(bench.target.calls) == 3


def test_overlap_skip_records_what_it_skips(bench: Bench, seed: Seeder):
    messages = beats(seed, "skip", 3)

    async def others() -> None:
        await execute_batch(bench.executor(), deliveries(*messages[1:]))

    asyncio.run(bench.closing(while_the_first_runs(bench, messages, others)))
    assert states(seed) == [("succeeded", None), ("skipped", "overlap"), ("skipped", "overlap")]
    assert len(bench.target.calls) == 1


def test_overlap_skip_in_one_batch_still_runs_one(bench: Bench, seed: Seeder):
    """Two runs of a job due at the same moment in the same batch: the older one runs."""
    bench.work(*beats(seed, "skip", 2))
    assert states(seed) == [("succeeded", None), ("skipped", "overlap")]


def test_overlap_skip_runs_again_once_the_first_has_ended(bench: Bench, seed: Seeder):
    first, second = beats(seed, "skip", 2)
    bench.work(first)
    bench.work(second)
    assert states(seed) == [("succeeded", None), ("succeeded", None)]


def test_overlap_skip_lets_a_retry_of_the_same_run_through(bench: Bench, seed: Seeder):
    job_id = seed.job({"every": "PT1S", "anchor": "2020-01-01T00:00:00Z"}, overlap="skip")
    bench.work(seed.run(job_id, PAST, state="retrying", attempt=1))
    assert states(seed) == [("succeeded", None)]


def test_racing_workers_never_run_two_of_a_job_that_skips(bench: Bench, seed: Seeder):
    """Four workers, four runs of one job, at the same moment: one runs, the others are skipped."""
    messages = beats(seed, "skip", 4)
    running, most = 0, 0

    async def watch(run: LeasedRun) -> AttemptResult:
        nonlocal running, most
        running += 1
        most = max(most, running)
        async with asyncio.timeout(5):
            while sum(state == "queued" for state, _ in states(seed)):
                await asyncio.sleep(0.005)
        running -= 1
        return OK

    async def race() -> None:
        executors = [bench.executor() for _ in messages]
        await asyncio.gather(
            *(
                execute_batch(
                    Executor(database=e.database, lanes=e.lanes, execute=watch, clock=e.clock), deliveries(message)
                )
                for e, message in zip(executors, messages, strict=True)
            )
        )

    asyncio.run(bench.closing(race()))
    assert most == 1
    assert sorted(state for state, _ in states(seed)) == ["skipped", "skipped", "skipped", "succeeded"]


def test_overlap_buffer_one_keeps_one_and_sends_it_when_the_first_ends(bench: Bench, seed: Seeder):
    messages = beats(seed, "buffer_one", 3)

    async def others() -> None:
        for message in messages[1:]:
            await execute_batch(bench.executor(), deliveries(message))
        assert states(seed)[1:] == [("queued", "buffered"), ("skipped", "overlap")]
        # nobody looks for it while the first runs, unless something goes wrong
        assert seed.rows("select wake_at > clock_timestamp() from run where reason = 'buffered'") == [(True,)]
        assert bench.lanes.sent == []

    asyncio.run(bench.closing(while_the_first_runs(bench, messages, others)))

    assert states(seed) == [("succeeded", None), ("queued", None), ("skipped", "overlap")]
    (sent,) = bench.lanes.sent
    assert sent.scheduled_for == messages[1].scheduled_for
    bench.work(sent)
    assert states(seed)[1] == ("succeeded", None)


def test_overlap_cancel_running_gives_way_to_the_newer_run(bench: Bench, seed: Seeder):
    messages = beats(seed, "cancel_running", 2)

    async def newer() -> None:
        bench.target.entered.clear()
        task = asyncio.create_task(execute_batch(bench.executor(), deliveries(messages[1])))
        await bench.target.entered.wait()
        bench.target.gate.set()
        await task

    asyncio.run(bench.closing(while_the_first_runs(bench, messages, newer)))

    assert states(seed) == [("cancelled", "superseded"), ("succeeded", None)]
    assert seed.rows("select outcome from attempt order by scheduled_for") == [("cancelled",), ("succeeded",)]


def test_a_run_told_to_wait_while_the_first_ends_is_not_forgotten(bench: Bench, seed: Seeder):
    """Racing: the first ends at the very moment at which the second finds it running. Nobody waits for the reaper."""
    for _ in range(10):
        seed.rows("with gone as (delete from run returning 1) delete from attempt returning 1")
        messages = beats(seed, "buffer_one", 2)

        async def scenario(first: LaneMessage = messages[0], second: LaneMessage = messages[1]) -> None:
            await asyncio.gather(
                execute_batch(bench.executor(), deliveries(first)), execute_batch(bench.executor(), deliveries(second))
            )

        asyncio.run(bench.closing(scenario()))
        for message in bench.lanes.take():
            bench.work(message)
        assert states(seed) == [("succeeded", None)] * 2
