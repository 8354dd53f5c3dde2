"""Workers that fetch runs themselves: each run is one worker's, judged as a lane's worker judges it, and never lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any
from uuid import UUID

import pytest
from hourbell.domain.errors import FieldErrors
from hourbell.domain.run_state import Lane
from hourbell.services.claim_due import claim_jobs
from hourbell.services.control_runs import complete_run, fail_run, heartbeat_run
from hourbell.services.errors import LeaseLostError
from hourbell.services.execute_batch import execute_batch
from hourbell.services.pull_runs import pull_runs
from hourbell.services.reap_runs import reap_runs
from hourbell.store import pulls
from hourbell.store.connection import Database
from hourbell.store.executions import LeasedRun
from hourbell.store.tenant_database import Actor, TenantDatabase

from tests.integration.engine.test_execute_batch import PAST, Bench, deliveries
from tests.seeds import RecordingLanes, Seeder

LEASE = timedelta(seconds=60)

Connect = Callable[[], Database]

# By any clock the runs of these tests are older than a job lets them become.
RECENT = "update run set fire_at = clock_timestamp() returning 1"


@pytest.fixture
def reports(seed: Seeder) -> UUID:
    return seed.target("reports", kind="pull")


@pytest.fixture
def connect(postgres, database_name, seed: Seeder) -> Iterator[Connect]:
    """As the API's own role, for the tenant of the tests."""
    opened: list[Database] = []

    def connect() -> Database:
        api = Database(postgres.conninfo(database=database_name, user="hourbell_api"))
        opened.append(api)
        return TenantDatabase(api, Actor(tenant_id=seed.tenant_id, key_id=seed.tenant_id, request_id="r"))

    yield connect
    for database in opened:
        database.close()


@pytest.fixture
def polling(connect: Connect) -> Database:
    return connect()


@pytest.fixture
def bench(conninfo: str, lanes: RecordingLanes) -> Bench:
    return Bench(conninfo, lanes)


def waiting(seed: Seeder, target: UUID, count: int = 1, **columns: Any) -> list[UUID]:
    """Runs of as many jobs, a second apart."""
    job_ids = seed.jobs(count, target_id=target, **columns)
    for second, job_id in enumerate(job_ids):
        seed.run(job_id, PAST + timedelta(seconds=second), target_id=target, lane="pull")
    return job_ids


def pull(database: Database, seed: Seeder, target: str | UUID = "reports", **options: Any) -> list[LeasedRun]:
    given = {"wait": timedelta(0), "limit": 1, "lease": LEASE, "now": None, **options}
    return pull_runs(database, seed.tenant_id, target, **given)


def states(seed: Seeder, columns: str = "state, reason, attempt") -> list[Any]:
    return seed.rows(f"select {columns} from run order by fire_at, job_id")  # noqa: S608 - the test's own columns


def test_a_pulled_run_is_planned_without_a_message_and_waits(database, seed: Seeder, lanes, reports):
    job_id = seed.job(target_id=reports, due_at=PAST)
    messages = database.run(lambda c: claim_jobs(c, [job_id], now=PAST, horizon=LEASE))
    assert [message.lane for message in messages] == [Lane.PULL]
    assert lanes.send(messages, now=PAST) == lanes.sent == []
    assert states(seed, "state, lane") == [("queued", "pull")]


def test_a_worker_gets_the_oldest_run_with_all_it_needs_and_completes_it(polling, seed: Seeder, lanes, reports):
    oldest, _ = waiting(seed, reports, 2, payload='{"n": 1.50}')
    (run,) = pull(polling, seed)
    assert (run.job_id, run.attempt, run.payload, run.progress) == (oldest, 1, '{"n": 1.50}', None)
    assert run.lease_expires_at - run.started_at == LEASE

    heartbeat_run(polling, seed.tenant_id, run.run_id, token=run.token, progress='{"page": 3}')
    complete_run(polling, lanes, seed.tenant_id, run.run_id, token=run.token, result=None, now=datetime.now(UTC))

    assert states(seed) == [("succeeded", None, 1), ("queued", None, 0)]
    assert seed.rows("select number, outcome from attempt") == [(1, "succeeded")]
    assert lanes.sent == []


def test_workers_that_pull_at_the_same_moment_never_share_a_run(connect: Connect, seed: Seeder, reports):
    waiting(seed, reports, 60)
    start = Barrier(6)

    def work(_: int) -> list[UUID]:
        own = connect()
        start.wait()
        got: list[UUID] = []
        while found := pull(own, seed, limit=3):
            got += [run.run_id for run in found]
        return got

    with ThreadPoolExecutor(6) as pool:
        got = [run for part in pool.map(work, range(6)) for run in part]
    assert len(got) == len(set(got)) == 60
    assert {row[0] for row in seed.rows("select attempt from run")} == {1}


def test_the_wait_holds_no_connection_and_ends_with_the_first_run(polling, seed: Seeder, reports):
    pauses: list[float] = []
    connected = "select count(*) from pg_stat_activity where usename = 'hourbell_api' and datname = current_database()"

    def pause(seconds: float) -> None:
        while seed.rows(connected) != [(0,)]:
            pass  # the server takes a moment to see the connection go
        pauses.append(seconds)
        if len(pauses) == 3:
            waiting(seed, reports)

    assert len(pull(polling, seed, wait=timedelta(seconds=20), pause=pause)) == 1
    assert pauses == [0.5, 0.5, 0.5]


def test_a_wait_in_vain_ends_with_nothing(polling, seed: Seeder, reports):
    pauses: list[float] = []
    assert pull(polling, seed, wait=timedelta(seconds=1.2), pause=pauses.append) == []
    assert sum(pauses) == pytest.approx(1.2)


def test_a_dead_workers_run_crashes_and_waits_to_be_pulled_again(polling, database, seed: Seeder, lanes, reports):
    waiting(seed, reports)
    seed.rows(RECENT)
    (run,) = pull(polling, seed)

    assert reap_runs(database, lanes, time_left=lambda: True, now=run.lease_expires_at).crashed == 1

    assert states(seed, "state, lane") == [("retrying", "pull")]
    assert seed.rows("select outcome from attempt") == [("crashed",)]
    assert lanes.sent == []
    with pytest.raises(LeaseLostError):
        complete_run(polling, lanes, seed.tenant_id, run.run_id, token=run.token, result=None, now=PAST)
    seed.rows("update run set next_attempt_at = %s, progress = '7' returning 1", PAST)
    (again,) = pull(polling, seed)
    assert (again.run_id, again.attempt, again.progress) == (run.run_id, 2, 7)


def test_a_failed_run_is_tried_again_by_its_jobs_policy(polling, seed: Seeder, lanes, reports):
    waiting(seed, reports)
    seed.rows(RECENT)
    (run,) = pull(polling, seed)
    failed = {"token": run.token, "error": "no paper", "retryable": True, "now": datetime.now(UTC)}
    fail_run(polling, lanes, seed.tenant_id, run.run_id, **failed)
    assert (states(seed), lanes.sent) == ([("retrying", "failed", 1)], [])


def test_what_nobody_pulls_waits_and_is_never_sent(database, seed: Seeder, lanes, reports):
    waiting(seed, reports, 50)
    for minute in range(1, 60):
        reap_runs(database, lanes, time_left=lambda: True, now=PAST + timedelta(minutes=minute))
    assert lanes.sent == []
    assert {row for row in states(seed)} == {("queued", "awaits_worker", 0)}
    measured = database.run(lambda connection: pulls.measure_pulled(connection, limit=20))
    assert measured.runs == 20
    assert measured.oldest_seconds > 3600


def test_a_concurrency_limit_holds_among_workers_that_pull(polling, seed: Seeder, lanes, reports):
    seed.rows("update target set max_concurrency = 2 returning 1")
    jobs = waiting(seed, reports, 4)
    first, second = pull(polling, seed, limit=3)
    assert [first.job_id, second.job_id] == jobs[:2]
    assert pull(polling, seed, limit=3) == []
    done = {"token": first.token, "result": None, "now": datetime.now(UTC)}
    complete_run(polling, lanes, seed.tenant_id, first.run_id, **done)
    assert [run.job_id for run in pull(polling, seed, limit=3)] == [jobs[2]]


def test_racing_workers_never_exceed_the_limit(connect: Connect, seed: Seeder, reports):
    seed.rows("update target set max_concurrency = 3 returning 1")
    waiting(seed, reports, 12)
    start = Barrier(4)

    def work(_: int) -> int:
        own = connect()
        start.wait()
        return sum(len(pull(own, seed, limit=2)) for _ in range(3))

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(work, range(4))) == 3


def test_a_paused_job_is_skipped_a_deleted_one_cancelled_and_a_paused_target_waits(polling, seed: Seeder, reports):
    waiting(seed, reports, state="paused")
    waiting(seed, reports, state="deleted")
    assert pull(polling, seed, limit=10) == []
    assert {row[:2] for row in states(seed)} == {("skipped", "paused"), ("cancelled", "deleted")}
    waiting(seed, reports)
    seed.rows("update target set state = 'paused' returning 1")
    assert pull(polling, seed) == []
    assert seed.rows("select reason from run where state = 'queued'") == [("target_paused",)]


def test_an_edited_schedule_keeps_only_the_occurrences_it_still_has(polling, seed: Seeder, reports):
    kept, stale = waiting(seed, reports, 2)
    seed.rows("update job set schedule_version = 2 returning 1")  # daily at 12:00:00, and the second run is at 12:00:01
    assert [run.job_id for run in pull(polling, seed, limit=5)] == [kept]
    assert seed.rows("select job_id, state, reason from run where state <> 'running'") == [
        (stale, "cancelled", "rescheduled")
    ]


def test_overlapping_runs_of_a_job_are_skipped(polling, seed: Seeder, reports):
    (job_id,) = waiting(seed, reports, overlap="skip")
    seed.run(job_id, PAST + timedelta(minutes=1), target_id=reports, lane="pull")
    assert len(pull(polling, seed, limit=5)) == 1
    assert [row[:2] for row in states(seed)] == [("running", None), ("skipped", "overlap")]


def test_a_job_that_gets_another_target_leaves_its_workers_for_the_lanes(
    polling, database, seed: Seeder, lanes, reports
):
    (job_id,) = waiting(seed, reports)
    seed.rows("update job set target_id = %s returning 1", seed.target_id)
    assert pull(polling, seed) == []
    reap_runs(database, lanes, time_left=lambda: True)
    assert [(message.job_id, message.lane) for message in lanes.sent] == [(job_id, Lane.SHARED)]
    assert states(seed, "lane, target_id") == [("shared", seed.target_id)]


def test_a_job_that_is_edited_to_be_pulled_leaves_the_lane_uncalled(
    bench: Bench, polling, database, seed: Seeder, reports
):
    message = seed.run(seed.job(), PAST)
    seed.rows("update job set target_id = %s returning 1", reports)
    report = asyncio.run(bench.closing(execute_batch(bench.executor(), deliveries(message))))
    assert (report.failed, bench.target.calls) == (set(), [])
    reap_runs(database, bench.lanes, time_left=lambda: True)
    assert bench.lanes.sent == []
    assert len(pull(polling, seed)) == 1


def test_large_payloads_make_a_reply_shorter(polling, seed: Seeder, reports):
    waiting(seed, reports, 8, payload='"' + "x" * 250_000 + '"')
    assert [len(pull(polling, seed, limit=10)) for _ in range(3)] == [5, 3, 0]


def test_only_pulled_targets_of_the_tenant_can_be_asked(polling, seed: Seeder, reports):
    for target in ("sink", "nowhere", UUID(int=0)):
        with pytest.raises(FieldErrors) as refused:
            pull(polling, seed, target)
        assert refused.value.errors[0].field == "target"
    assert pull(polling, seed, reports) == []
    with pytest.raises(FieldErrors):
        pull_runs(polling, seed.tenant("globex"), reports, wait=timedelta(0), limit=1, lease=LEASE)
