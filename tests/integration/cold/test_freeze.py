"""The freezer: what becomes a segment and when, and what is left after it was killed anywhere."""

from __future__ import annotations

import gzip
from datetime import timedelta

import pytest
from hourbell.cold.errors import SegmentError
from hourbell.cold.objects import ColdObjects
from hourbell.cold.policy import FEW, FULL, MERGE, OLD
from hourbell.domain.ids import due_hour_of
from hourbell.services.cold_jobs import list_cold_jobs, take_cold_job
from hourbell.services.freeze_jobs import GRACE, Frozen
from hourbell.store import cold

from tests.cold_jobs import hours
from tests.integration.cold.world import CrashError, FaultyDatabase, FaultyObjects, World, crash, unavailable
from tests.seeds import T0

DUE = T0 + hours(30)
HOUR = due_hour_of(DUE)


def keys(objects: ColdObjects) -> set[str]:
    reply = objects.client().list_objects_v2(Bucket=objects.bucket)
    return {found["Key"] for found in reply.get("Contents", [])}


def test_an_old_enough_intake_becomes_one_readable_segment(world: World):
    jobs = world.accept(DUE, FEW)
    assert world.freeze() == Frozen()
    world.now += OLD

    assert world.freeze() == Frozen(jobs=FEW, segments=1)

    ((key, count),) = world.segments()
    assert (count, keys(world.objects)) == (FEW, {key})
    body = world.objects.client().get_object(Bucket=world.objects.bucket, Key=key)["Body"].read()
    assert len(gzip.decompress(body).splitlines()) == FEW
    assert world.seed.rows("select count(*) from cold_intake") == [(0,)]
    assert [world.find(job.job_id) for job in jobs[::9]] == jobs[::9]
    world.check()


def test_few_jobs_stay_in_the_intake_however_old(world: World):
    world.accept(DUE, FEW - 1)
    world.now += hours(5)
    assert world.freeze() == Frozen()
    world.check()


def test_a_full_hour_is_frozen_at_once(world: World):
    world.accept(DUE, FULL)
    assert world.freeze().jobs == FULL


def test_an_hour_that_is_promoted_soon_is_not_frozen(world: World):
    world.accept(T0 + hours(4), FULL)
    assert world.freeze() == Frozen()


def test_a_frozen_job_is_listed_counted_deleted_and_keeps_its_target(world: World):
    jobs = world.accept(DUE, FEW)
    world.now += OLD
    world.freeze()
    later = world.accept(DUE, 3)
    jobs = sorted([*jobs, *later], key=lambda job: job.job_id)

    def listed(after=None, limit=1_000):
        return list_cold_jobs(
            world.database, world.objects, world.seed.tenant_id, due_hour=HOUR, after_id=after, limit=limit
        )

    assert listed() == jobs
    assert listed(jobs[9].job_id, 5) == jobs[10:15]
    assert world.database.run(lambda c: cold.is_target_cold(c, world.seed.target_id))
    for job in jobs[:-1]:
        world.database.run(lambda c, job=job: take_cold_job(c, job, now=T0))
    assert world.database.run(lambda c: cold.is_target_cold(c, world.seed.target_id))
    assert world.delete(jobs[-1].job_id)
    assert not world.delete(jobs[-1].job_id)
    world.accepted.clear()
    assert listed() == []
    assert not world.database.run(lambda c: cold.is_target_cold(c, world.seed.target_id))
    world.check()


def test_what_was_taken_out_while_it_was_being_frozen_stays_out(world: World, objects):
    """Deleted and edited between the read of the intake and the commit: the segment's copies do not count."""
    jobs = world.accept(DUE, FULL)

    def meanwhile() -> None:
        world.delete(jobs[0].job_id)
        world.edit(jobs[1].job_id, '"edited"')

    # the freezer has a thread of its own for each PUT; the database connection is not shared with it
    from hourbell.store.connection import Database

    other = Database(world.database._conninfo)
    freezing = World(
        other, FaultyObjects(bucket=objects.bucket, client=objects.client, faults={"before put": meanwhile}), world.seed
    )
    assert freezing.freeze().jobs == FULL - 2
    other.close()

    assert world.segments()[0][1] == FULL
    world.check()
    assert world.find(jobs[0].job_id) is None
    assert world.find(jobs[1].job_id) is None


@pytest.mark.parametrize("place", ["before put", "after put"])
def test_a_crash_around_the_put_loses_nothing_and_the_next_tick_does_it_again(world: World, objects, place: str):
    world.accept(DUE, FULL)
    world.objects = FaultyObjects(bucket=objects.bucket, client=objects.client, faults={place: crash})
    with pytest.raises(CrashError):
        world.freeze()
    world.check()
    assert world.segments() == []

    world.objects = objects
    assert world.freeze().jobs == FULL
    world.check()
    assert keys(objects) == {key for key, _ in world.segments()}


@pytest.mark.parametrize("when", ["fail_before", "fail_after"])
@pytest.mark.parametrize("transaction", range(5))
def test_a_crash_at_any_transaction_leaves_every_job_in_one_place(world: World, conninfo, when: str, transaction: int):
    world.accept(DUE, FULL)
    world.accept(DUE + hours(1), FULL)
    faulty = FaultyDatabase(conninfo)
    world.database = faulty
    setattr(faulty, when, transaction)
    with pytest.raises(CrashError):
        world.freeze()
    faulty.fail_before = faulty.fail_after = None
    world.check()
    world.now += timedelta(minutes=2)
    world.freeze()
    world.check()
    assert world.seed.rows("select count(*) from cold_intake") == [(0,)]
    faulty.close()


def test_an_s3_that_refuses_leaves_the_intake_as_it_is(world: World, objects):
    world.accept(DUE, FULL)
    world.objects = FaultyObjects(bucket=objects.bucket, client=objects.client, faults={"before put": unavailable})
    assert world.freeze() == Frozen(unstored=1)
    world.check()
    world.objects = objects
    assert world.freeze().jobs == FULL


def test_an_hour_that_closed_meanwhile_is_not_frozen(world: World, objects):
    """The object stays behind without effect: the rows are promoted from the intake."""
    world.accept(DUE, FULL)

    def close() -> None:
        world.seed.rows("update cold_bucket set state = 'promoting' returning 1")

    world.objects = FaultyObjects(bucket=objects.bucket, client=objects.client, faults={"before put": close})
    assert world.freeze().jobs == 0
    assert world.segments() == []
    world.check()


def test_small_segments_become_one_and_the_old_objects_go_a_day_later(world: World, objects):
    for _ in range(MERGE):
        world.accept(DUE, FEW)
        world.now += OLD
        frozen = world.freeze()
    jobs = list(world.accepted.values())

    assert (frozen.merged, len(world.segments())) == (MERGE, 1)
    assert world.segments()[0][1] == MERGE * FEW
    assert len(keys(objects)) == MERGE + 1
    assert [world.find(job.job_id) for job in jobs[::FEW]] == jobs[::FEW]
    world.check()

    world.now += GRACE
    assert world.freeze().removed == MERGE
    assert keys(objects) == {key for key, _ in world.segments()}
    world.check()


@pytest.mark.parametrize("fault", ["before put", "after put", "before get", "commit", "unheard"])
def test_a_crash_while_segments_are_merged_changes_nothing(world: World, objects, conninfo, fault: str):
    world.accept(DUE, FEW)
    gone = list(world.accepted)[:5]
    for _ in range(MERGE - 1):
        world.now += OLD
        world.freeze()
        world.accept(DUE, FEW)
    for job_id in gone:
        assert world.delete(job_id)
    # seven segments, and an intake that makes the eighth: then the merge fails
    puts = iter([False, True])
    faulty = FaultyDatabase(conninfo)
    faults = {"before get": crash}
    if "put" in fault:
        faults = {fault: lambda: crash() if next(puts) else None}
    elif "get" not in fault:
        # before it: the lease, the intake's buckets, its rows twice, the eighth's commit, the small segments
        world.database = faulty
        setattr(faulty, "fail_before" if fault == "commit" else "fail_after", 6)
        faults = {}
    world.objects = FaultyObjects(bucket=objects.bucket, client=objects.client, faults=faults)
    world.now += OLD
    with pytest.raises(CrashError):
        world.freeze()
    faulty.fail_before = faulty.fail_after = None
    world.objects = objects
    world.check()
    world.now += OLD
    world.freeze()
    world.check()
    assert len(world.segments()) <= 2
    assert all(world.find(job_id) is None for job_id in gone)
    faulty.close()


def test_a_missing_segment_is_named_when_its_job_is_asked_for(world: World, objects):
    (job, *_) = world.accept(DUE, FULL)
    world.freeze()
    ((key, version),) = world.seed.rows("select object_key, object_version from cold_segment")
    objects.client().delete_object(Bucket=objects.bucket, Key=key)
    assert world.find(job.job_id) == job, "its version is still there"
    objects.client().delete_object(Bucket=objects.bucket, Key=key, VersionId=version)
    with pytest.raises(SegmentError) as raised:
        world.find(job.job_id)
    assert (raised.value.key, raised.value.detail) == (key, "is missing")


def test_a_second_freezer_exits_quietly_and_a_dead_ones_lease_ends(world: World):
    world.accept(DUE, FULL)
    world.seed.rows("insert into cold_lease values ('freeze', 'dead', 1, %s) returning 1", T0 + timedelta(seconds=60))
    assert world.freeze() == Frozen(held_elsewhere=True)
    world.now += timedelta(seconds=61)
    assert world.freeze().jobs == FULL


def test_a_look_up_reads_one_block_of_one_segment(world: World, objects, monkeypatch):
    (job, *_) = world.accept(DUE, FULL)
    world.freeze()
    reads = []
    client = objects.client()
    monkeypatch.setattr(
        client, "get_object", lambda get=client.get_object, **call: reads.append(call["Range"]) or get(**call)
    )
    assert world.find(job.job_id) == job
    ((size,),) = world.seed.rows("select bytes from cold_segment")
    (first, last) = reads[0].removeprefix("bytes=").split("-")
    assert len(reads) == 1
    assert int(last) - int(first) < size / 3
