"""Long runs, cancellation and redrive on a real database."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from hourbell.domain.ids import run_id
from hourbell.domain.outcome import AttemptOutcome, AttemptResult
from hourbell.domain.run_state import RunState
from hourbell.services import control_runs as control
from hourbell.services.control_runs import LeaseLostError, Redriven
from hourbell.services.errors import NotFoundError, StateError
from hourbell.services.execute_batch import execute_batch
from hourbell.services.reap_runs import reap_runs
from hourbell.store.runs_read import RunFilter

from tests.integration.engine.test_execute_batch import OK, PAST, UNAVAILABLE, Bench, deliveries
from tests.seeds import RecordingLanes, Seeder

ACCEPTED = AttemptResult(outcome=AttemptOutcome.SUCCEEDED, accepted=True, status_code=202)
LATER = datetime.now(UTC)


@pytest.fixture
def bench(conninfo: str, lanes: RecordingLanes) -> Bench:
    made = Bench(conninfo, lanes)
    made.target.answer = ACCEPTED
    return made


def accepted(bench: Bench, seed: Seeder, **columns: Any) -> tuple[UUID, UUID]:
    """A run whose target answered 202 and works on: its id and its token."""
    bench.work(seed.run(seed.job(**columns), PAST))
    ((found, token),) = seed.rows("select run_id, lease_token from run where state = 'running'")
    return found, token


def row(seed: Seeder, columns: str) -> tuple[Any, ...]:
    (found,) = seed.rows(f"select {columns} from run")  # noqa: S608 - the test's own columns
    return found


def test_an_accepted_run_stays_running_under_its_lease(bench: Bench, seed: Seeder):
    accepted(bench, seed)
    assert row(seed, "state, attempt, lease_expires_at > now() + interval '50 s'") == ("running", 1, True)


def test_a_heartbeat_extends_the_lease_and_keeps_the_progress(bench: Bench, database, seed: Seeder):
    found, token = accepted(bench, seed)
    before = row(seed, "lease_expires_at")
    until = control.heartbeat_run(database, seed.tenant_id, found, token=token, progress='{"done":3}')
    assert (until,) > before
    assert row(seed, "progress, lease_expires_at, wake_at") == ({"done": 3}, until, until)


def test_a_completion_by_callback_ends_the_run_once(bench: Bench, database, seed: Seeder, lanes):
    found, token = accepted(bench, seed)
    control.complete_run(database, lanes, seed.tenant_id, found, token=token, result='{"ok":1}', now=datetime.now(UTC))
    assert row(seed, "state, result, lease_token") == ("succeeded", '{"ok":1}', None)
    assert seed.rows("select outcome, duration_ms >= 0 from attempt") == [("succeeded", True)]
    with pytest.raises(LeaseLostError):
        control.complete_run(database, lanes, seed.tenant_id, found, token=token, result=None, now=LATER)


ACTS = {
    "heartbeat": lambda db, lanes, tenant, run: control.heartbeat_run(db, tenant, run, token=uuid4(), progress="1"),
    "complete": lambda db, lanes, tenant, run: control.complete_run(
        db, lanes, tenant, run, token=uuid4(), result="1", now=LATER
    ),
    "fail": lambda db, lanes, tenant, run: control.fail_run(
        db, lanes, tenant, run, token=uuid4(), error="", retryable=True, now=LATER
    ),
}


@pytest.mark.parametrize("act", ACTS)
def test_a_wrong_token_changes_nothing(bench: Bench, database, seed: Seeder, lanes, act: str):
    found, _ = accepted(bench, seed)
    before = seed.rows("select * from run")
    with pytest.raises(LeaseLostError):
        ACTS[act](database, lanes, seed.tenant_id, found)
    assert seed.rows("select * from run") == before


def test_another_tenants_run_is_not_there(bench: Bench, database, seed: Seeder, lanes):
    found, token = accepted(bench, seed)
    other = seed.tenant("other")
    with pytest.raises(NotFoundError):
        control.heartbeat_run(database, other, found, token=token, progress=None)
    with pytest.raises(NotFoundError):
        control.cancel_run(database, lanes, other, found, now=LATER)


def test_a_failure_by_callback_is_retried_and_hands_on_the_progress(bench: Bench, database, seed: Seeder, lanes):
    found, token = accepted(bench, seed, retry='{"max_attempts": 3, "initial": "PT1S", "maximum": "PT1S"}')
    seed.rows("update run set fire_at = now() returning 1")
    control.heartbeat_run(database, seed.tenant_id, found, token=token, progress='{"done":3}')
    now = datetime.now(UTC) - timedelta(seconds=5)
    control.fail_run(database, lanes, seed.tenant_id, found, token=token, error="disk full", retryable=True, now=now)
    assert row(seed, "state, error") == ("retrying", "disk full")
    bench.target.answer = OK
    bench.work(*lanes.take())
    assert bench.target.calls[-1].progress == {"done": 3}
    assert bench.target.calls[-1].attempt == 2
    assert row(seed, "state") == ("succeeded",)


def test_a_final_failure_by_callback_is_dead(bench: Bench, database, seed: Seeder, lanes):
    found, token = accepted(bench, seed)
    control.fail_run(database, lanes, seed.tenant_id, found, token=token, error="no", retryable=False, now=LATER)
    assert row(seed, "state, reason") == ("dead", "refused_by_target")


def test_without_heartbeats_the_run_is_taken_over_and_the_old_token_is_spent(
    bench: Bench, database, seed: Seeder, lanes
):
    found, token = accepted(bench, seed)
    ((end,),) = seed.rows("select lease_expires_at from run")
    seed.rows("update run set fire_at = %s returning 1", end)
    assert reap_runs(database, lanes, time_left=lambda: True, now=end).crashed == 1
    with pytest.raises(LeaseLostError):
        control.heartbeat_run(database, seed.tenant_id, found, token=token, progress=None)


def test_cancelling_a_waiting_run_keeps_it_from_its_target(bench: Bench, database, seed: Seeder, lanes):
    message = seed.run(seed.job(), PAST)
    control.cancel_run(database, lanes, seed.tenant_id, run_id(message.job_id, PAST), now=LATER)
    bench.work(message)
    assert bench.target.calls == []
    assert row(seed, "state, reason") == ("cancelled", "cancelled")


def test_cancelling_a_running_run_stops_its_attempt(bench: Bench, database, seed: Seeder, lanes):
    message = seed.run(seed.job(), PAST)

    async def scenario() -> None:
        bench.target.gate, bench.target.entered = asyncio.Event(), asyncio.Event()
        executor = bench.executor(heartbeat=timedelta(milliseconds=20))
        work = asyncio.create_task(execute_batch(executor, deliveries(message)))
        await bench.target.entered.wait()
        control.cancel_run(database, lanes, seed.tenant_id, run_id(message.job_id, PAST), now=LATER)
        await asyncio.wait_for(work, 5)

    asyncio.run(bench.closing(scenario()))
    assert row(seed, "state") == ("cancelled",)
    assert seed.rows("select outcome from attempt") == [("cancelled",)]


def test_a_run_that_ended_cannot_be_cancelled(database, seed: Seeder, lanes):
    message = seed.run(seed.job(), state="succeeded", wake_at=None)
    with pytest.raises(StateError):
        control.cancel_run(database, lanes, seed.tenant_id, run_id(message.job_id, message.scheduled_for), now=LATER)


def dead(seed: Seeder, count: int = 1, **columns: Any) -> list[UUID]:
    jobs = [seed.job(**columns) for _ in range(count)]
    for number, job_id in enumerate(jobs):
        at = PAST + timedelta(seconds=number)
        seed.run(job_id, at, state="dead", wake_at=None, attempt=3, reason="attempts_exhausted", error="HTTP 500")
    return jobs


def test_a_retried_run_keeps_its_id_and_gets_a_full_set_of_attempts(bench: Bench, database, seed: Seeder, lanes):
    (job_id,) = dead(seed)
    control.retry_run(database, lanes, seed.tenant_id, run_id(job_id, PAST), now=datetime.now(UTC))
    bench.target.answer = UNAVAILABLE
    bench.work(*lanes.take())
    assert row(seed, "state, attempt, run_id") == ("retrying", 4, run_id(job_id, PAST))


def test_a_retried_run_runs_whatever_became_of_the_schedule(bench: Bench, database, seed: Seeder, lanes):
    """The job was paused and its schedule changed since: whoever redrives wants this run all the same."""
    (job_id,) = dead(seed, state="paused", schedule_version=9)
    control.retry_run(database, lanes, seed.tenant_id, run_id(job_id, PAST), now=datetime.now(UTC))
    bench.target.answer = OK
    bench.work(*lanes.take())
    assert row(seed, "state") == ("succeeded",)


@pytest.mark.parametrize("columns", [{"state": "succeeded", "wake_at": None}, {}])
def test_a_run_that_succeeded_or_still_goes_is_not_retried(database, seed: Seeder, lanes, columns: dict[str, Any]):
    message = seed.run(seed.job(), **columns)
    with pytest.raises(StateError):
        control.retry_run(database, lanes, seed.tenant_id, run_id(message.job_id, message.scheduled_for), now=LATER)


def test_redrive_counts_first_and_then_starts_the_same_over(bench: Bench, database, seed: Seeder, lanes):
    jobs = dead(seed, 5)
    only = RunFilter(from_at=PAST + timedelta(seconds=2))

    def redrive(dry_run: bool) -> Redriven:
        return control.redrive_runs(
            database, lanes, seed.tenant_id, only, state=RunState.DEAD, dry_run=dry_run, now=datetime.now(UTC)
        )

    assert redrive(dry_run=True) == Redriven(runs=3, more=False)
    assert lanes.sent == []
    assert redrive(dry_run=False) == Redriven(runs=3, more=False)
    assert {m.job_id for m in lanes.sent} == set(jobs[2:])
    assert redrive(dry_run=False) == Redriven(runs=0, more=False)


def test_redrive_leaves_other_tenants_and_deleted_jobs_alone(database, seed: Seeder, lanes):
    dead(seed, state="deleted")
    mine = seed.tenant_id
    seed.tenant_id = seed.tenant("other")
    dead(seed)
    found = control.redrive_runs(
        database, lanes, mine, RunFilter(), state=RunState.DEAD, dry_run=False, now=datetime.now(UTC)
    )
    assert found == Redriven(runs=0, more=False)
