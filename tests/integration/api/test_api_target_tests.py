"""Tests of targets: asked for over the API, made by a worker while the API waits, once."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from hourbell.api.calls import Api
from hourbell.api.schemas import REPLIES
from hourbell.lanes.deliveries import Delivery
from hourbell.lanes.messages import LaneMessage, decode_message, encode_message
from hourbell.services.ask_target_test import PER_MINUTE, WAIT_SECONDS
from hourbell.services.execute_attempt import AttemptExecutor
from hourbell.services.execute_batch import BatchReport, Executor, execute_batch
from hourbell.services.keep_house import keep_house
from hourbell.store.connection import Database
from hourbell.targets.http import HttpCaller
from hourbell.targets.registry import Callers

from tests.integration.api.conftest import Client
from tests.seeds import RecordingLanes


@dataclass
class Worker:
    """Works on what was sent, as the worker's role, against targets in memory."""

    database: Database
    lanes: RecordingLanes
    answer: httpx.Response = field(default_factory=lambda: httpx.Response(200))
    calls: list[httpx.Request] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)
    at_work: bool = True

    def pause(self, seconds: float) -> None:
        """What the API does between two looks: time for the worker."""
        self.waited.append(seconds)
        if self.at_work:
            self.work(self.lanes.take())

    def work(self, messages: list[LaneMessage]) -> BatchReport:
        sent = [decode_message(encode_message(message)) for message in messages]
        return asyncio.run(
            self._batch([Delivery(message_id=str(number), message=message) for number, message in enumerate(sent)])
        )

    async def _batch(self, deliveries: list[Delivery]) -> BatchReport:
        async with httpx.AsyncClient(transport=httpx.MockTransport(self._receive)) as client:
            http = HttpCaller(client=client, clock=lambda: datetime.now(UTC), key=self._key)
            attempts = AttemptExecutor(callers=Callers(http=http, aws=lambda: None))  # type: ignore[arg-type, return-value]
            executor = Executor(
                database=self.database,
                lanes=self.lanes,
                execute=attempts.execute,
                call=attempts.call,
                clock=lambda: datetime.now(UTC),
            )
            try:
                return await execute_batch(executor, deliveries)
            finally:
                await self.database.close_async()

    def _receive(self, request: httpx.Request) -> httpx.Response:
        self.calls.append(request)
        return self.answer

    @staticmethod
    async def _key(_target: Any, _secret: str | None) -> bytes:
        return b"key"


@pytest.fixture
def worker(postgres, database_name, lanes: RecordingLanes) -> Worker:
    return Worker(Database(postgres.conninfo(database=database_name, user="hourbell_worker")), lanes)


@pytest.fixture
def client(bare: Client, worker: Worker) -> Client:
    api: Api = bare.application._api
    bare.application._api = replace(api, pause=worker.pause)
    bare.now = datetime.now(UTC)  # the database's clock says whether a test is too old to be made
    return bare


@pytest.fixture
def target(client: Client) -> dict[str, Any]:
    return client.target(http={"url": "http://127.0.0.1:9/hook", "headers": {"Authorization": "Bearer hush"}})


def ask(client: Client, target: dict[str, Any], body: Any = None, **headers: str):
    return client.post(f"/v1/targets/{target['id']}/test", body, headers=headers)


def test_the_answer_says_what_the_target_was_sent_and_answered(client: Client, target, worker: Worker):
    answer = ask(client, target)

    assert answer.status == 200, answer.text
    REPLIES["TargetTest"].model_validate_json(answer.text)
    test = answer.json
    assert (test["state"], test["outcome"], test["status_code"], test["error"]) == ("finished", "succeeded", 200, None)
    (call,) = worker.calls
    assert json.loads(call.content) == {"test": True}
    assert call.headers["hourbell-test"] == "true"
    assert call.headers["idempotency-key"] == test["id"]
    assert call.headers["webhook-signature"].startswith("v1,")
    assert call.headers["authorization"] == "Bearer hush"
    sent = test["sent"]
    assert (sent["method"], sent["to"], sent["body"]) == ("POST", "http://127.0.0.1:9/hook", '{"test":true}')
    received = {name: call.headers[name] for name in sent["headers"]}
    hidden = {"Authorization": "***", "webhook-signature": "***", "webhook-timestamp": "***"}
    assert sent["headers"] == {**received, **hidden}
    assert "hush" not in answer.text


def test_a_failure_is_an_answer_and_is_not_tried_again(client: Client, target, worker: Worker):
    worker.answer = httpx.Response(503, text="closed")

    test = client.post(f"/v1/targets/{target['id']}/test", raw='{"payload": {"n": 1.50}}').json

    assert (test["outcome"], test["status_code"], test["error"]) == ("failed", 503, "HTTP 503: closed")
    assert [call.content for call in worker.calls] == [b'{"n":1.50}']
    assert worker.lanes.sent == []


def test_a_paused_target_is_called_and_no_run_is_made(client: Client, target, worker: Worker, admin):
    client.post(f"/v1/targets/{target['id']}/pause")

    assert ask(client, target).json["outcome"] == "succeeded"
    assert admin.execute("select count(*) from run").fetchone() == (0,)


def test_a_message_that_comes_twice_calls_once(client: Client, target, worker: Worker):
    worker.at_work = False
    ask(client, target)
    messages = worker.lanes.take()

    assert worker.work([*messages, *messages]).failed == set()
    assert worker.work(messages).failed == set()
    assert len(worker.calls) == 1


def test_without_a_worker_the_answer_is_pending_and_holds_no_connection(client: Client, target, worker: Worker):
    worker.at_work = False
    opened: list[Any] = []
    database = client.application._api.scheduler.database
    client.application._api = replace(
        client.application._api, pause=lambda seconds: opened.append((seconds, database._connection))
    )

    test = ask(client, target).json

    assert (test["state"], test["outcome"], test["sent"]) == ("pending", None, None)
    assert sum(seconds for seconds, _ in opened) == WAIT_SECONDS
    assert {connection for _, connection in opened} == {None}


def test_the_same_request_under_its_key_looks_again_and_calls_once(client: Client, target, worker: Worker):
    worker.at_work = False
    key = {"Idempotency-Key": "test-1"}
    pending = ask(client, target, **key).json
    worker.at_work = True

    again = ask(client, target, **key)

    assert (again.json["id"], again.json["state"]) == (pending["id"], "finished")
    assert again.headers["idempotency-replayed"] == "true"
    assert ask(client, target, **key).json == again.json
    assert len(worker.calls) == 1


def test_a_test_that_nobody_waits_for_any_more_is_not_made(client: Client, target, worker: Worker):
    worker.at_work = False
    client.now -= timedelta(minutes=2)
    ask(client, target)

    assert worker.work(worker.lanes.take()).failed == set()
    assert worker.calls == []


def test_a_worker_of_an_older_release_takes_a_test_for_a_run_that_is_gone(client: Client, target, worker: Worker):
    worker.at_work = False
    ask(client, target)
    (message,) = worker.lanes.take()

    assert worker.work([message._replace(is_test=False)]).failed == set()
    assert worker.calls == []


def test_runs_of_the_same_batch_are_executed(client: Client, target, worker: Worker):
    worker.at_work = False
    job = client.job()
    client.post(f"/v1/jobs/{job['id']}/trigger", {})
    ask(client, target)

    report = worker.work(worker.lanes.take())

    assert [attempt.state for attempt in report.attempts] == ["succeeded"]
    assert sorted("hourbell-test" in call.headers for call in worker.calls) == [False, True]


def test_more_than_a_few_a_minute_are_refused(client: Client, target, worker: Worker):
    for _ in range(PER_MINUTE):
        assert ask(client, target).status == 200

    refused = ask(client, target)

    assert (refused.status, refused.fields) == (429, ["target_tests"])
    client.now += timedelta(seconds=int(refused.headers["retry-after"]))
    assert ask(client, target).status == 200
    assert len(worker.calls) == PER_MINUTE + 1


def test_there_is_nothing_to_call_at_a_target_that_is_pulled(client: Client, worker: Worker):
    answer = ask(client, client.target("pulled", http=None, pull={}))

    assert answer.status == 409
    assert worker.lanes.sent == []


def test_another_tenants_target_is_not_called(client: Client, target, stranger: Client, worker: Worker):
    assert ask(stranger, target).status == 404
    assert ask(replace(client, scopes="jobs:write runs:write"), target).status == 403
    assert worker.lanes.sent == []


@pytest.mark.parametrize("body", [{"payload": "x" * 300_000}, {"other": 1}])
def test_a_bad_test_is_refused_by_field(client: Client, target, body: dict[str, Any]):
    answer = ask(client, target, body)

    assert (answer.status, answer.fields) == (400, list(body))


def test_old_tests_are_forgotten(client: Client, target, database_name, postgres):
    ask(client, target)
    owner = Database(postgres.conninfo(database=database_name))

    kept = [keep_house(owner, now=client.now + timedelta(days=days)).tests_forgotten for days in (1, 3)]
    owner.close()

    assert kept == [0, 1]
