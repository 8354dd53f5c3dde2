"""Freezer and loader as processes, killed (SIGKILL) while each of their requests is on its way to S3 or back.

The processes run the functions' own handlers, on the test's database and an S3 of its own. After each kill each job is
in one effective place; the next invocation goes on there, and in the end everything is done, once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hourbell import environment
from hourbell.cold import policy
from hourbell.cold.patience import TICK
from hourbell.environment import make_cold_objects
from hourbell.services import freeze_jobs
from hourbell.store.connection import Database

from tests.cold_jobs import hours
from tests.integration.cold.world import World
from tests.s3_server import FaultyS3, faulty_s3
from tests.seeds import Seeder

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 60
KILLED = -9

_INVOKE = """
import json, sys
from types import SimpleNamespace
sys.path.insert(0, sys.argv[1])
import handler
context = SimpleNamespace(aws_request_id=sys.argv[2], get_remaining_time_in_millis=lambda: 300_000)
print(json.dumps(handler.handler({}, context)))
"""

# The handler's reply, or None: it was killed as this request, the n-th, came to S3, which carries it out all the same.
Invoke = Callable[..., dict[str, Any] | None]


@pytest.fixture
def s3() -> Iterator[FaultyS3]:
    with faulty_s3() as server:
        yield server


@pytest.fixture
def environ(s3: FaultyS3, postgres, database_name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    aws = {
        "AWS_ENDPOINT_URL": s3.url,
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }
    for name, value in aws.items():
        monkeypatch.setenv(name, value)
    environment.aws_client.cache_clear()
    yield {
        **aws,
        "PATH": os.environ["PATH"],
        "PYTHONTZPATH": "",
        "HOURBELL_STAGE": "test",
        "HOURBELL_DATABASE": postgres.conninfo(database=database_name, user="hourbell_loader"),
        "HOURBELL_DATABASE_AUTH": "none",
        "HOURBELL_COLD_BUCKET": "cold",
    }
    environment.aws_client.cache_clear()


@pytest.fixture
def invoke(s3: FaultyS3, environ: dict[str, str]) -> Iterator[Invoke]:
    started: list[subprocess.Popen[str]] = []

    def invoke(function: str, *, kill_at: int | None = None) -> dict[str, Any] | None:
        left = iter(range(1, 1_000))
        s3.watch = lambda _method: process.kill() if next(left) == kill_at else None
        process = subprocess.Popen(
            [sys.executable, "-c", _INVOKE, str(ROOT / "functions" / function), f"request-{len(started)}"],
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)
        s3.watch = lambda _method: None
        if kill_at is not None:
            assert process.returncode == KILLED, errors
            return None
        assert process.returncode == 0, errors
        return dict(json.loads(output.splitlines()[-1]))

    yield invoke
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def world(environ: dict[str, str], conninfo: str) -> Iterator[World]:
    with closing(Database(conninfo)) as database, psycopg.connect(conninfo, autocommit=True) as connection:
        now = datetime.now(UTC).replace(microsecond=0)
        yield World(database, make_cold_objects("cold", TICK), Seeder(connection), now=now)


def after_a_kill(world: World) -> None:
    """The minute in which the dead one's lease ends."""
    world.check()
    world.seed.rows("update cold_lease set expires_at = expires_at - interval '1 minute' returning 1")


def small_segments(world: World, due_at: datetime, monkeypatch: pytest.MonkeyPatch, segments: int) -> None:
    """So many for an hour, of four jobs each, as an earlier day's freezer left them."""
    with monkeypatch.context() as patch:
        for module in (policy, freeze_jobs):
            patch.setattr(module, "FEW", 2)
            patch.setattr(module, "MERGE", 99)
        patch.setattr(policy, "FULL", 4)
        patch.setattr(freeze_jobs, "FREEZE_MARGIN", timedelta(days=-1))
        for _ in range(segments):
            world.accept(due_at, 4)
            assert world.freeze().segments == 1


def test_a_freezer_is_killed_at_each_of_its_requests(
    world: World, s3: FaultyS3, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
):
    due_at = world.now + hours(30)
    small_segments(world, due_at, monkeypatch, policy.MERGE)
    world.accept(due_at + hours(1), policy.FULL)
    # the intake's PUT, which comes to nothing, the same as it is carried out, and its HEAD
    s3.fail("reset before", "PUT", times=1)
    for request in (1, 1, 2):
        invoke("freezer", kill_at=request)
        after_a_kill(world)
    assert len(world.segments()) == policy.MERGE
    # the intake's again; then, of the merge, the first read, the last, its PUT and HEAD
    for request in (3, 8, 9, 10):
        invoke("freezer", kill_at=request)
        after_a_kill(world)
    assert invoke("freezer") == {"jobs": 0, "segments": 1, "merged": policy.MERGE, "removed": 0, "drained": True}
    world.check()
    assert sorted(jobs for _, jobs in world.segments()) == [4 * policy.MERGE, policy.FULL]


def test_a_loader_is_killed_at_each_of_its_requests(
    world: World, s3: FaultyS3, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
):
    due_at = world.now + hours(1)
    small_segments(world, due_at, monkeypatch, 3)
    world.accept(due_at, 3)
    hot = [3, 7, 11]  # the intake at once, and each segment before the next is asked for
    for jobs in hot:
        invoke("loader", kill_at=1 if jobs == 3 else 2)
        after_a_kill(world)
        assert world.seed.rows("select count(*) from due") == [(jobs,)]
    assert invoke("loader") == {"jobs": 4, "hours": 1, "late": 0, "broken": [], "drained": True}
    world.check()
    assert world.seed.rows("select count(*) from due") == [(15,)]
