"""One deployed cloud, one receiver and one client for all of these tests; what takes minutes begins first.

Real HTTP in, real HTTP out. These tests wait for the real clock: on a condition where somebody tells, else by asking.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import boto3
import psutil
import pytest
from botocore.config import Config
from hourbell.client import ApiError, Client
from hourbell.domain.instants import format_instant
from hourbell.local.progress import Silence
from hourbell.local.state import EMULATOR, Cloud, CloudRecord
from hourbell.local.warm import function_tasks, warm

from tests.end_to_end.bells import Bell, Hang, soon
from tests.end_to_end.sink import Sink

if TYPE_CHECKING:
    from hourbell.local.project import StateDirectory
    from mypy_boto3_sqs import SQSClient

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def sink() -> Iterator[Sink]:
    with Sink() as running:
        yield running


@pytest.fixture(scope="session")
def client(local_cloud: Cloud) -> Iterator[Client]:
    with Client(local_cloud.url, local_cloud.api_key) as opened:
        yield opened


@pytest.fixture(scope="session")
def hang(client: Client, sink: Sink) -> Iterator[Hang]:
    """Create a job with a target and a place of its own: ``hang({"every": "1s"}, answer=…, retry=…)``."""
    hung: list[Bell] = []

    def hang(
        schedule: dict[str, Any] | datetime,
        *,
        answer: Callable[[int], int] = lambda _: 200,
        closed: bool = False,
        **members: Any,
    ) -> Bell:
        name = f"place-{next(_numbers)}"
        place = sink.place(name, answer, closed=closed)
        client.create_target(name, {"url": place.url})
        wanted = {"at": format_instant(schedule)} if isinstance(schedule, datetime) else schedule
        bell = Bell(client=client, place=place, job=client.create_job({"schedule": wanted, "target": name, **members}))
        hung.append(bell)
        return bell

    yield hang
    for bell in hung:
        with contextlib.suppress(ApiError):  # the test has deleted it
            client.delete_job(bell.job["id"])


@pytest.fixture(scope="session")
def lane(local_cloud: Cloud) -> SQSClient:
    """SQS as an operator sees it."""
    session = boto3.Session(aws_access_key_id="000000000000", aws_secret_access_key="local", region_name="us-east-1")
    return session.client("sqs", endpoint_url=local_cloud.endpoint, config=Config(proxies={}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """Two runs that something happened to, long before anybody looks what became of them."""

    lost_message: Bell
    killed_worker: Bell


@pytest.fixture(scope="session")
def losses(hang: Hang, lane: SQSClient, sink: Sink, local_cloud: Cloud, local_state: StateDirectory) -> Losses:
    """A message lost from its lane, and a worker killed in the middle of a call; then a cloud as warm as before."""
    killed = _kill_worker(hang, sink, local_state)
    lost = _lose_message(hang, lane)
    warm(function_tasks(local_cloud.endpoint), Silence())
    return Losses(lost_message=lost, killed_worker=killed)


@pytest.fixture(scope="session", autouse=True)
def losses_first(request: pytest.FixtureRequest) -> None:
    """Only time finds a loss, a minute or two later: it happens before all other tests, and is looked at after them."""
    if any("losses" in getattr(item, "fixturenames", ()) for item in request.session.items):
        request.getfixturevalue("losses")


def _lose_message(hang: Hang, lane: SQSClient) -> Bell:
    """Long runs have the solo lane, so that nobody else's message is lost with this one."""
    bell = hang(soon(6), timeout="PT2M")
    lane.purge_queue(QueueUrl=lane.get_queue_url(QueueName="hourbell-local-solo")["QueueUrl"])
    return bell


def _kill_worker(hang: Hang, sink: Sink, state: StateDirectory) -> Bell:
    bell = hang(soon(2), closed=True, retry={"max_attempts": 3, "initial": "PT1S", "maximum": "PT1S"})
    bell.place.wait(1, seconds=20)
    (worker,) = _callers(state, sink.port)
    worker.kill()
    bell.place.gate.set()
    return bell


def _callers(state: StateDirectory, port: int) -> list[psutil.Process]:
    """The Lambda environments that hold a connection to this port."""
    record = CloudRecord.read(state)
    emulator = record.pids[EMULATOR].find() if record else None
    assert emulator is not None
    return [
        child
        for child in emulator.children(recursive=True)
        if any(
            c.raddr and c.raddr.port == port and c.status == psutil.CONN_ESTABLISHED
            for c in child.net_connections("tcp")
        )
    ]
