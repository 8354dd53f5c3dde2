"""How other schedulers failed their users around pauses, edits, deletion and drift, over the API and the engine."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from hourbell.domain.instants import format_instant
from hourbell.domain.outcome import AttemptOutcome, AttemptResult
from hourbell.lanes.deliveries import Delivery
from hourbell.lanes.messages import LaneMessage
from hourbell.services.claim_due import claim_shards
from hourbell.services.execute_batch import BatchReport, Executor, execute_batch
from hourbell.store.connection import Database

from tests.integration.api.conftest import HORIZON, Client
from tests.seeds import RecordingLanes

# Past by any clock: the database's own decides when a run may start.
FRIDAY = datetime(2026, 5, 8, tzinfo=UTC)


def at(days: int, hours: int, minutes: int = 0, seconds: int = 0) -> datetime:
    return FRIDAY + timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def scan(conninfo: str, now: datetime, horizon: timedelta = HORIZON) -> list[LaneMessage]:
    database = Database(conninfo)
    claim = database.run(
        lambda connection: claim_shards(
            connection, first_shard=0, last_shard=127, now=now, horizon=horizon, per_shard=100
        )
    )
    database.close()
    return claim.messages


def work(conninfo: str, *messages: LaneMessage, calls: list, during: Any = None) -> BatchReport:
    async def execute(run: Any) -> AttemptResult:
        calls.append(run)
        if during is not None:
            during()
        return AttemptResult(outcome=AttemptOutcome.SUCCEEDED, status_code=200, duration_ms=1)

    async def batch() -> BatchReport:
        database = Database(conninfo)
        executor = Executor(database=database, lanes=RecordingLanes(), execute=execute, clock=lambda: datetime.now(UTC))
        try:
            return await execute_batch(executor, [Delivery(message_id="m", message=one) for one in messages])
        finally:
            await database.close_async()

    return asyncio.run(batch())


def runs(admin) -> list[tuple]:
    return admin.execute("select scheduled_for, state, reason from run order by scheduled_for").fetchall()


def test_d05_resume_after_a_weekend_neither_bursts_nor_stays_dead(client: Client, conninfo, admin):
    client.now = at(0, 17, 52)
    path = f"/v1/jobs/{client.job({'cron': '*/5 * * * *', 'timezone': 'UTC'})['id']}"
    client.now = at(0, 18)
    admin.execute("update due set scheduled_for = %(at)s, next_run_at = %(at)s", {"at": at(0, 18, 5)})
    client.post(f"{path}/pause")
    for hour in range(18, 80, 5):
        assert scan(conninfo, at(0, hour)) == []

    client.now = at(3, 9, 2)
    first = client.post(f"{path}/resume").json
    again = client.post(f"{path}/resume").json

    assert first == again
    assert first["next_run_at"] == format_instant(at(3, 9, 5))
    assert [message.scheduled_for for message in scan(conninfo, at(3, 9, 5))] == [at(3, 9, 5)]
    assert runs(admin) == [(at(3, 9, 5), "queued", None)]


def test_d06_an_interval_counts_from_its_anchor_however_long_runs_take(client: Client, conninfo, admin):
    client.now = at(0, 0)
    client.job({"every": "900s", "anchor": format_instant(at(0, 0))})
    now, ran = at(0, 0), 0
    while now < at(1, 0):
        scan(conninfo, now, timedelta(seconds=30))
        now += timedelta(seconds=337 if ran % 2 else 563)  # the planner looks at odd moments, never on the grid alone
        ran += 1
    scan(conninfo, at(1, 0), timedelta(0))

    assert [row[0] for row in runs(admin)] == [at(0, 0, 15 * k) for k in range(1, 97)]


def test_d08_saving_a_job_while_it_is_due_does_not_lose_the_run(client: Client, conninfo, admin):
    client.now = at(0, 8)
    schedule = {"cron": "0 9 * * *", "timezone": "UTC"}
    job = client.job(schedule)
    client.now = at(0, 9, 0, 5)
    saved = client.patch(f"/v1/jobs/{job['id']}", {"name": "renamed", "schedule": schedule}).json

    assert saved["next_run_at"] == format_instant(at(0, 9))
    for second in (10, 11, 70):
        scan(conninfo, at(0, 9, 0, second))
    assert runs(admin) == [(at(0, 9), "queued", None)]


def test_d09_a_changed_schedule_drops_what_was_queued_for_the_old_one(client: Client, conninfo, admin):
    client.now = at(0, 19)
    job = client.job({"cron": "0 7 * * *", "timezone": "UTC"})
    (saturday,) = scan(conninfo, at(0, 19, 59), timedelta(hours=12))
    client.now = at(0, 20)
    edited = client.patch(f"/v1/jobs/{job['id']}", {"schedule": {"cron": "0 7 * * 1-5"}}).json
    calls: list = []

    report = work(conninfo, saturday, calls=calls)

    assert edited["next_runs"][0] == format_instant(at(3, 7))
    assert (saturday.scheduled_for, report.failed, calls) == (at(1, 7), set(), [])
    assert runs(admin) == [(at(1, 7), "cancelled", "rescheduled")]
    assert scan(conninfo, at(1, 7)) == scan(conninfo, at(2, 7)) == []
    assert [message.scheduled_for for message in scan(conninfo, at(3, 7))] == [at(3, 7)]


def test_d10_an_edit_to_an_earlier_day_is_not_a_missed_run(client: Client, conninfo, admin):
    client.now = datetime(2026, 5, 1, tzinfo=UTC)
    job = client.job({"cron": "0 0 10 * *", "timezone": "UTC"})
    scan(conninfo, datetime(2026, 5, 10, tzinfo=UTC))
    client.now = datetime(2026, 5, 12, tzinfo=UTC)
    edited = client.patch(f"/v1/jobs/{job['id']}", {"schedule": {"cron": "0 0 11 * *"}}).json
    scan(conninfo, datetime(2026, 5, 12, 0, 1, tzinfo=UTC))

    assert edited["next_runs"][:2] == ["2026-06-11T00:00:00.000Z", "2026-07-11T00:00:00.000Z"]
    assert [row[0].day for row in runs(admin)] == [10]
    assert client.get(f"/v1/jobs/{job['id']}/missed").json["items"] == []


def test_d11_delete_wins_over_a_worker_that_finishes_and_a_message_that_waits(client: Client, conninfo, admin):
    client.now = at(0, 6)
    path = f"/v1/jobs/{client.job({'every': '1h', 'anchor': format_instant(at(0, 0))})['id']}"
    running, waiting = scan(conninfo, at(0, 8), timedelta(0))[-1:] + scan(conninfo, at(0, 8), timedelta(hours=1))[-1:]
    calls: list = []

    def delete() -> None:
        client.now = at(0, 8, 1)
        assert client.delete(path).status == 204

    work(conninfo, running, calls=calls, during=delete)
    report = work(conninfo, waiting, calls=calls)

    assert (len(calls), report.failed) == (1, set())
    assert runs(admin)[-2:] == [(at(0, 8), "succeeded", None), (at(0, 9), "cancelled", "deleted")]
    assert admin.execute("select state from job").fetchall() == [("deleted",)]
    assert client.get(path).status == client.delete(path).status == 404
    assert scan(conninfo, at(0, 12)) == []
