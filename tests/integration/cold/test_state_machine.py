"""Whatever users, ticks, crashes and clocks do, in any order: each job is in one effective place, and fires once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hourbell.cold import policy
from hourbell.cold.objects import ColdObjects
from hourbell.services import freeze_jobs, verify_cold
from hourbell.services.scan_shards import ScanRange, scan_shards
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.cold_jobs import hours
from tests.integration.cold.world import CrashError, FaultyDatabase, FaultyObjects, World, crash, unavailable
from tests.seeds import T0, RecordingLanes, Seeder

TABLES = "cold_intake, cold_content, cold_segment, cold_tombstone, cold_name, cold_bucket, cold_lease, job, due, run"
FAULTS = [
    "before put",
    "after put",
    "before get",
    "after delete",
    "transaction",
    "unheard",
    "s3",
    "delete",
    "edit",
    "promote",
    None,
]
EVERYTHING = ScanRange(first_shard=0, last_shard=127)


class ColdTier(RuleBasedStateMachine):
    """Three hours ahead, a handful of jobs, and every way to move them."""

    make_world: Callable[[], World]
    world: World

    @initialize()
    def begin(self) -> None:
        self.world = type(self).make_world()
        self.faults: dict[str, Callable[[], None]] = {}
        plain = self.world.objects
        self.world.objects = FaultyObjects(bucket=plain.bucket, client=plain.client, faults=self.faults)
        self.known: list[UUID] = []
        self.deleted: set[UUID] = set()
        self.lanes = RecordingLanes()
        for hour in (0, 0, 1, 2):
            self.create(hour, milliseconds=0, jobs=4)
            self.world.freeze()
        self.create(0, milliseconds=3_599_999, jobs=3)
        # the first hour is promoted in a millisecond
        self.world.now = T0 + hours(4) - timedelta(milliseconds=1)

    @rule(hour=st.integers(0, 2), milliseconds=st.sampled_from([0, 1, 1_800_000, 3_599_999]), jobs=st.integers(1, 4))
    def create(self, hour: int, milliseconds: int, jobs: int) -> None:
        due_at = T0 + hours(6 + hour) + timedelta(milliseconds=milliseconds)
        if due_at > self.world.now:
            self.known += [job.job_id for job in self.world.accept(due_at, jobs)]

    @precondition(lambda self: self.known)
    @rule(data=st.data(), meanwhile=st.sampled_from([None, "promote"]))
    def delete(self, data: st.DataObject, meanwhile: str | None) -> None:
        job_id = data.draw(st.sampled_from(self.known))
        with self.failing(meanwhile, 0):
            if self.world.delete(job_id):
                self.deleted.add(job_id)

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def edit(self, data: st.DataObject) -> None:
        self.world.edit(data.draw(st.sampled_from(self.known)), '"edited"')

    @rule(fault=st.sampled_from(FAULTS), at=st.integers(0, 6))
    def freeze(self, fault: str | None, at: int) -> None:
        with self.failing(fault, at):
            self.world.freeze()

    @rule(
        fault=st.sampled_from(FAULTS),
        at=st.integers(0, 6),
        steps=st.integers(0, 9),
        chunk=st.sampled_from([1, 3, 1_000]),
    )
    def promote(self, fault: str | None, at: int, steps: int, chunk: int) -> None:
        left = iter(range(steps + 1))
        with self.failing(fault, at):
            self.world.promote(lambda: next(left, None) is not None, chunk)

    @rule()
    def rebuild(self) -> None:
        """An operator clears away what crashes have left; there is nothing worse to be found."""
        for repair in verify_cold.plan_repairs(self.world.database, self.world.objects, now=self.world.now):
            assert repair.act is not None
            assert not repair.flaw.harms
            repair.act()

    @rule(ahead=st.sampled_from([1, 59_999, 60_000, 1_800_000, 3_600_000, 7_200_000]))
    def wait(self, ahead: int) -> None:
        """Long enough for a lease that a crash left behind to end, or not."""
        self.world.now += timedelta(milliseconds=ahead)

    @invariant()
    def every_job_is_in_one_effective_place(self) -> None:
        self.world.check()
        assert self.deleted.isdisjoint(self.world.effective())

    def teardown(self) -> None:
        """The day goes on without faults: what was accepted fires, once, and nothing else does."""
        world = self.world
        world.now = max(world.now, T0 + hours(9)) + timedelta(minutes=2)
        world.freeze()
        promoted = world.promote()
        assert (promoted.drained, promoted.broken) == (True, [])
        for _ in range(2):
            scan_shards(
                world.database,
                self.lanes,
                EVERYTHING,
                owner="scanner",
                horizon=timedelta(seconds=120),
                time_left=lambda: True,
                now=world.now,
            )
        fired = [(message.job_id, message.scheduled_for) for message in self.lanes.sent]
        assert sorted(fired) == sorted((job.job_id, job.scheduled_for) for job in world.accepted.values())

    def meanwhile(self, what: str, at: int) -> Callable[[], None]:
        """Something that happens once, while the freezer or the loader talks to S3."""
        once = iter([True])

        def happen() -> None:
            if not next(once, False):
                return
            if what == "promote":
                self.world.now += hours(5)
                self.world.promote()
            elif self.known:
                job_id = self.known[at % len(self.known)]
                if what == "edit":
                    self.world.edit(job_id, '"edited meanwhile"')
                elif self.world.delete(job_id):
                    self.deleted.add(job_id)

        return happen

    @contextmanager
    def failing(self, fault: str | None, at: int) -> Iterator[None]:
        database = self.world.database
        assert isinstance(database, FaultyDatabase)
        if fault == "transaction":
            database.fail_before = at
        elif fault == "unheard":
            database.fail_after = at
        elif fault == "s3":
            self.faults.update({"before put": unavailable, "before get": unavailable})
        elif fault in ("delete", "edit", "promote"):
            meanwhile = self.meanwhile(fault, at)
            self.faults.update(dict.fromkeys(("before put", "before get", "after find"), meanwhile))
        elif fault is not None:
            self.faults[fault] = crash
        try:
            yield
        except CrashError:
            pass
        finally:
            database.fail_before = database.fail_after = None
            self.faults.clear()


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two jobs make a segment, two segments a larger one, a segment takes nine: everything happens with a handful."""
    for module in (policy, freeze_jobs):
        monkeypatch.setattr(module, "FEW", 2)
        monkeypatch.setattr(module, "MERGE", 2)
        monkeypatch.setattr(module, "SEGMENT_RECORDS", 9)
    monkeypatch.setattr(freeze_jobs, "FREEZE_MARGIN", hours(0))
    monkeypatch.setattr(policy, "FULL", 4)
    # S3's clock is the real one, and the world's is not
    monkeypatch.setattr(verify_cold, "ON_ITS_WAY", -timedelta(days=36_500))


def new_bucket(objects: ColdObjects, name: str) -> ColdObjects:
    """Empty, as the tables are: an object whose row is gone would be a loss."""
    client = objects.client()
    client.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": client.meta.region_name})
    client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    return replace(objects, bucket=name)


def test_no_order_of_events_loses_doubles_or_resurrects_a_job(small_segments, conninfo, objects):
    database, numbers = FaultyDatabase(conninfo), count()
    with psycopg.connect(conninfo, autocommit=True) as connection:
        seed = Seeder(connection)

        def make_world() -> World:
            connection.execute(f"truncate {TABLES}")
            return World(database, new_bucket(objects, f"cold-{next(numbers)}"), seed)

        machine: Any = type("Machine", (ColdTier,), {"make_world": staticmethod(make_world)})
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=20,
                stateful_step_count=20,
                deadline=None,
                derandomize=True,
                suppress_health_check=list(HealthCheck),
            ),
        )
    database.close()
