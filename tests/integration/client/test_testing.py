"""The test helper that is shipped: time is what the test says, and the engine is the real one."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import boto3
import httpx
import pytest
from hourbell.client import ApiError
from hourbell.testing import Engine, ReceivedCall, Server
from moto import mock_aws

from tests.seeds import T0

EVERY_MINUTE = {"every": "1m", "anchor": "2027-05-09T12:00:00Z"}


def receive(engine: Engine, answer: object = None, *, name: str = "sink", **limits: object) -> None:
    engine.add_target(name, lambda call: answer, **limits)


def states(engine: Engine, job_id: str) -> list[str]:
    return [run["state"] for run in engine.client.iter_job_runs(job_id)]


def test_nothing_runs_before_its_time(engine: Engine):
    receive(engine)
    engine.client.create_job({"schedule": EVERY_MINUTE, "target": "sink"})
    engine.clock.advance(seconds=59)
    assert engine.run_due_jobs() == []
    engine.clock.advance(seconds=1)
    (run,) = engine.run_due_jobs()
    assert (run["state"], run["lateness_ms"], run["started_at"]) == ("succeeded", 0, "2027-05-09T12:01:00.000Z")


def test_a_function_receives_what_a_target_receives(engine: Engine):
    receive(engine)
    job = engine.client.create_job({"schedule": EVERY_MINUTE, "target": "sink", "payload": {"ledger": 7}})
    (run,) = engine.run_until("2027-05-09T12:01:00Z")
    (call,) = engine.calls
    assert isinstance(call, ReceivedCall)
    assert (call.target, call.job_id, call.run_id, call.attempt) == ("sink", job["id"], run["id"], 1)
    assert (call.payload, call.scheduled_for) == ({"ledger": 7}, T0 + timedelta(minutes=1))
    assert call.headers["idempotency-key"] == run["id"]


def test_time_that_passes_runs_everything_at_its_own_moment(engine: Engine):
    receive(engine)
    engine.client.create_job({"schedule": EVERY_MINUTE, "target": "sink"})
    runs = engine.run_until(T0 + timedelta(minutes=10))
    assert [run["lateness_ms"] for run in runs] == [0] * 10
    assert engine.clock.now == T0 + timedelta(minutes=10)


def test_a_jump_of_the_clock_is_an_outage(engine: Engine):
    receive(engine)
    job = engine.client.create_job({"schedule": {"cron": "0 * * * *", "timezone": "UTC"}, "target": "sink"})
    engine.clock.advance(hours=3, minutes=30)
    (run,) = engine.run_due_jobs()
    assert (run["scheduled_for"], run["lateness_ms"]) == ("2027-05-09T15:00:00.000Z", 1_800_000)
    assert states(engine, job["id"]) == ["succeeded", "skipped", "skipped"]


def test_what_raises_fails_is_retried_and_is_dead_at_the_limit(engine: Engine):
    def refuse(call: ReceivedCall) -> None:
        raise LookupError(f"no ledger in attempt {call.attempt}")

    engine.add_target("sink", refuse)
    job = {"schedule": {"at": "2027-05-09T12:00:01Z"}, "target": "sink", "retry": {"max_attempts": 3}}
    engine.client.create_job(job)
    (run,) = engine.run_until("2027-05-09T18:00:00Z")
    assert (run["state"], run["attempt"]) == ("dead", 3)
    assert [attempt["error"] for attempt in run["attempts"]] == [
        f"HTTP 500: LookupError: no ledger in attempt {number}" for number in (1, 2, 3)
    ]


def test_a_function_may_answer_as_a_target_does(engine: Engine):
    answers = [httpx.Response(503, headers={"retry-after": "60"}), 429, None]
    engine.add_target("sink", lambda call: answers[call.attempt - 1])
    engine.client.create_job({"schedule": {"at": "2027-05-09T12:00:01Z"}, "target": "sink"})
    (run,) = engine.run_until("2027-05-09T18:00:00Z")
    assert [attempt["status_code"] for attempt in run["attempts"]] == [503, 429, 204]
    assert run["attempts"][1]["started_at"] >= "2027-05-09T12:01:01"


def test_a_long_run_ends_through_the_api(engine: Engine):
    receive(engine, httpx.Response(202, headers={"hourbell-async": "true"}))
    engine.client.create_job({"schedule": {"at": "2027-05-09T12:00:01Z"}, "target": "sink"})
    (run,) = engine.run_until("2027-05-09T12:00:01Z")
    assert run["state"] == "running"
    token = engine.calls[0].lease_token
    assert engine.client.heartbeat_run(run["id"], token, progress={"done": 3})["lease_expires_at"]
    assert engine.client.complete_run(run["id"], token, result=42)["state"] == "succeeded"
    with pytest.raises(ApiError) as lost:
        engine.client.fail_run(run["id"], token, error="too late")
    assert lost.value.kind == "lease-lost"


def test_a_lease_that_runs_out_is_taken_over(engine: Engine):
    receive(engine, httpx.Response(202, headers={"hourbell-async": "true"}))
    engine.client.create_job({"schedule": {"at": "2027-05-09T12:00:01Z"}, "target": "sink"})
    engine.run_until("2027-05-09T12:10:00Z")
    assert [call.attempt for call in engine.calls][:2] == [1, 2]


def test_what_is_paused_or_edited_does_not_run_as_it_was(engine: Engine):
    receive(engine)
    paused = engine.client.create_job({"schedule": EVERY_MINUTE, "target": "sink"})
    edited = engine.client.create_job({"schedule": EVERY_MINUTE, "target": "sink", "payload": 1})
    engine.client.pause_job(paused["id"])
    engine.client.update_job(edited["id"], {"payload": 2})
    engine.run_until(T0 + timedelta(minutes=1))
    assert [(call.job_id, call.payload) for call in engine.calls] == [(edited["id"], 2)]


def test_a_targets_limits_hold(engine: Engine):
    receive(engine, rate_per_second=1, burst=1)
    at = {"at": "2027-05-09T13:00:00Z"}
    engine.client.create_jobs([{"schedule": at, "target": "sink"}] * 3)
    runs = engine.run_until("2027-05-09T13:00:10Z")
    assert [run["started_at"][14:19] for run in runs] == ["00:00", "00:01", "00:02"]


def test_a_function_may_use_the_api_itself(engine: Engine):
    def trigger(call: ReceivedCall) -> None:
        engine.client.trigger_job(second["id"], {"payload": call.run_id})

    engine.add_target("first", trigger)
    receive(engine, name="second")
    second = engine.client.create_job({"schedule": {"at": "2030-01-01T00:00:00Z"}, "target": "second"})
    engine.client.create_job({"schedule": {"at": "2027-05-09T12:00:01Z"}, "target": "first"})
    first, follower = engine.run_until("2027-05-09T12:00:01Z")
    assert follower["origin"] == "trigger"
    assert engine.calls[1].payload == first["id"]


def test_targets_in_aws_are_called_with_the_clients_that_are_given(engine_server: Server, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        sqs = boto3.client("sqs", region_name="eu-west-1")
        url = sqs.create_queue(QueueName="settlements")["QueueUrl"]
        with engine_server.engine(
            now=T0, aws_clients=lambda service: boto3.client(service.name, service.region)
        ) as engine:
            engine.client.create_target("queue", sqs={"queue_url": url})
            engine.client.create_job({"schedule": EVERY_MINUTE, "target": "queue", "payload": {"ledger": 7}})
            (run,) = engine.run_until(T0 + timedelta(minutes=1))
        (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
    assert run["state"] == "succeeded"
    assert message["Body"] == '{"ledger":7}'


def test_without_them_the_run_says_what_is_missing(engine: Engine):
    url = "https://sqs.eu-west-1.amazonaws.com/123456789012/settlements"
    engine.client.create_target("queue", sqs={"queue_url": url})
    job = {"schedule": EVERY_MINUTE, "target": "queue", "retry": {"max_attempts": 1}}
    engine.client.create_job(job)
    (run,) = engine.run_until(T0 + timedelta(minutes=1))
    assert "give it aws_clients" in run["error"]


def test_the_clock_does_not_go_back(engine: Engine):
    with pytest.raises(ValueError, match="has passed"):
        engine.clock.set(T0 - timedelta(seconds=1))
    with pytest.raises(ValueError, match="says nothing of its zone"):
        engine.clock.set(T0.replace(tzinfo=None))


def test_engines_know_nothing_of_each_other(engine_server: Server):
    with engine_server.engine(now=T0) as one, engine_server.engine(now=T0 + timedelta(days=1)) as other:
        receive(one)
        one.client.create_job({"schedule": EVERY_MINUTE, "target": "sink"})
        assert other.run_until(T0 + timedelta(days=2)) == []
        assert one.clock.now == T0


def test_a_coroutine_lets_it_run_in_a_thread(engine: Engine):
    receive(engine)

    async def wait() -> list[str]:
        async with engine.async_client() as hourbell:
            job = await hourbell.create_job({"schedule": EVERY_MINUTE, "target": "sink"})
            await asyncio.to_thread(engine.run_until, T0 + timedelta(minutes=2))
            return [run["state"] async for run in hourbell.iter_job_runs(job["id"])]

    assert asyncio.run(wait()) == ["succeeded", "succeeded"]
