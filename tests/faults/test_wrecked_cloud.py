"""A whole cloud, wrecked while it works: PostgreSQL and Lambda environments are killed (SIGKILL), again and again.

It takes some minutes and both cores: `make test-wreck` runs it. HOURBELL_WRECK_SEED chooses another order of kills.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random

import psutil
import psycopg
import pytest
from hourbell.client import ApiError, Client
from hourbell.domain.ids import decode
from hourbell.domain.instants import floor_ms, format_instant
from hourbell.local.postgres import EmbeddedPostgres
from hourbell.local.project import StateDirectory
from hourbell.local.receiver import Receiver
from hourbell.local.state import EMULATOR, Cloud, CloudRecord

pytestmark = pytest.mark.skipif(
    os.environ.get("HOURBELL_WRECK") != "1", reason="minutes of both cores: make test-wreck"
)

JOBS = 240
SECONDS = 90
LEAST_KILLS = 10
# A lease has to end, and the reaper comes once a minute.
PATIENCE_SECONDS = 300


class Wrecker(threading.Thread):
    """Kills PostgreSQL or a Lambda environment every few seconds, inside a ``with`` block."""

    def __init__(self, state: StateDirectory, random: Random) -> None:
        super().__init__()
        self._postgres = EmbeddedPostgres(data=state.database, sockets=state.sockets, log=state.logs / "postgres.log")
        record = CloudRecord.read(state)
        assert record is not None
        self._emulator = psutil.Process(record.pids[EMULATOR].pid)
        self._random = random
        self._over = threading.Event()
        self.killed: Counter[str] = Counter()

    def __enter__(self) -> Wrecker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        while not self._over.wait(self._random.uniform(2, 8)):
            if self._random.random() < 0.25:
                self._kill_postgres()
            else:
                self._kill_function(self._random.choice(["worker", "worker", "scanner", ""]))

    def _kill_postgres(self) -> None:
        server = self._postgres.find()
        if server is not None:
            server.kill()
            self._over.wait(self._random.uniform(0.2, 3))
            self.killed["postgres"] += 1
        self._postgres.start()

    def _kill_function(self, part: str) -> None:
        running = {
            process: name
            for process in self._emulator.children(recursive=True)
            if (name := _function(process)) is not None and part in name
        }
        if running:
            process = self._random.choice(list(running))
            self.killed[running[process]] += 1
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


def _function(process: psutil.Process) -> str | None:
    try:
        name = process.environ().get("AWS_LAMBDA_FUNCTION_NAME", "")
    except psutil.Error:
        return None
    return name if name.startswith("hourbell-") else None


@pytest.fixture
def client(local_cloud: Cloud) -> Iterator[Client]:
    with Client(local_cloud.url, local_cloud.api_key) as client:
        yield client


@pytest.mark.timeout(900)
def test_nothing_that_was_accepted_is_lost_or_doubled_while_everything_is_killed(
    client: Client, local_cloud: Cloud, local_state: StateDirectory
):
    random = Random(int(os.environ.get("HOURBELL_WRECK_SEED", "1")))  # noqa: S311
    with Receiver() as receiver:
        with Wrecker(local_state, random) as wrecker:
            target = client.create_target("wreck", {"url": receiver.url})["name"]
            tick = client.create_job({"schedule": {"every": "PT1S"}, "target": target})["id"]
            accepted = _create_jobs(client, target)
            time.sleep(max(0.0, (max(accepted.values()) - datetime.now(UTC)).total_seconds()))
        _wait_for_all(receiver, accepted)
        client.pause_job(tick)
        calls = Counter(call.run_id for call in receiver.calls())

    assert sum(wrecker.killed.values()) >= LEAST_KILLS, wrecker.killed
    rung = {call.job_id for call in receiver.calls()}
    assert accepted.keys() - rung == set(), "accepted, and never rung"
    runs = _runs(local_cloud, accepted)
    assert runs == {job_id: ["succeeded"] for job_id in accepted}
    ticks = _ticks(local_cloud, tick)
    assert {later - earlier for earlier, later in pairwise(ticks)} == {timedelta(seconds=1)}
    print(
        f"\n{len(accepted)} jobs accepted, {len(calls)} runs, {sum(n > 1 for n in calls.values())} called twice, "
        f"killed: {dict(wrecker.killed)}"
    )


def _create_jobs(client: Client, target: str) -> dict[str, datetime]:
    """Create jobs for as long as the wrecking goes on; those that were accepted, and when each is to ring.

    A call that fails while everything is down is no promise, and the client has tried again until then.
    """
    begin = floor_ms(datetime.now(UTC)) + timedelta(seconds=5)

    def create(number: int) -> tuple[str, datetime] | None:
        at = begin + timedelta(seconds=SECONDS * number / JOBS)
        time.sleep(max(0.0, (at - datetime.now(UTC)).total_seconds() - 10))
        at = floor_ms(max(at, datetime.now(UTC) + timedelta(seconds=2)))
        with contextlib.suppress(ApiError):
            return client.create_job({"schedule": {"at": format_instant(at), "past": "run_now"}, "target": target})[
                "id"
            ], at
        return None

    with ThreadPoolExecutor(3) as pool:
        return dict(made for made in pool.map(create, range(JOBS)) if made is not None)


def _wait_for_all(receiver: Receiver, accepted: dict[str, datetime]) -> None:
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while accepted.keys() - {call.job_id for call in receiver.calls()} and time.monotonic() < give_up_at:
        time.sleep(1)
    time.sleep(3)  # outcomes are being recorded


def _runs(cloud: Cloud, job_ids: dict[str, datetime]) -> dict[str, list[str]]:
    names = {decode("job", job_id): job_id for job_id in job_ids}
    with psycopg.connect(cloud.database) as connection:
        rows = connection.execute(
            "select job_id, array_agg(state) from run where job_id = any(%s) group by job_id", (list(names),)
        ).fetchall()
    return {names[job_id]: states for job_id, states in rows}


def _ticks(cloud: Cloud, job_id: str) -> list[datetime]:
    with psycopg.connect(cloud.database) as connection:
        rows = connection.execute(
            "select scheduled_for from run where job_id = %s order by 1", (decode("job", job_id),)
        ).fetchall()
    return [row[0] for row in rows]
