"""What is wrong with segments is found and named, and put right from what S3 still has."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hourbell.cold.errors import SegmentError
from hourbell.cold.objects import ColdObjects
from hourbell.cold.policy import FEW, OLD
from hourbell.cold.record import encode_record
from hourbell.cold.segment import BLOCK_RECORDS, BlockError, scan_segment, write_segment
from hourbell.domain.ids import due_hour_of, encode, job_due_hour
from hourbell.services import verify_cold as service
from hourbell.services.verify_cold import Flaw, plan_repairs, verify_cold
from hourbell.store import cold
from hourbell.store.connection import Database

from tests.cold_jobs import cold_job, hours
from tests.integration.cold.world import CrashError, FaultyObjects, World, crash
from tests.seeds import T0, Seeder

DUE = T0 + hours(40)
HOUR = due_hour_of(DUE)


CENTURY = timedelta(days=36_500)


@pytest.fixture(autouse=True)
def old_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """S3's clock here is the real one, and the world's is not: whatever is there has been there for long."""
    monkeypatch.setattr(service, "ON_ITS_WAY", -CENTURY)


@pytest.fixture
def frozen(world: World) -> World:
    """Two hours in segments."""
    world.accept(DUE, 1_000)
    world.accept(DUE + hours(1), 1_000)
    assert world.freeze().segments == 2
    return world


def flaws(world: World) -> list[tuple[str, str]]:
    return [(flaw.kind.value, flaw.key) for flaw in verify_cold(world.database, world.objects, now=world.now)]


def rebuild(world: World) -> list[str]:
    actions = []
    for repair in plan_repairs(world.database, world.objects, now=world.now):
        actions.append(repair.action)
        if repair.act is not None:
            repair.act()
    return actions


def promoted(world: World) -> int:
    world.now = DUE
    return world.promote().jobs


def test_a_whole_tier_has_no_flaw(frozen: World):
    seen: list[tuple[int, int]] = []

    found = verify_cold(frozen.database, frozen.objects, now=frozen.now, progress=lambda *one: seen.append(one))

    assert list(found) == []
    assert seen == [(1, 2), (2, 2)]


def test_a_deleted_object_comes_back_from_its_version(frozen: World, seed: Seeder):
    seed.rows("update cold_segment set object_version = null returning 1")
    key = frozen.segments()[0][0]
    frozen.objects.delete(key)

    assert flaws(frozen) == [("missing", key)]
    assert rebuild(frozen) == ["store version 1 of it again, which is whole"]
    assert flaws(frozen) == []
    frozen.check()


def test_an_overwritten_object_comes_back_from_its_version(frozen: World, seed: Seeder):
    seed.rows("update cold_segment set object_version = null returning 1")
    key = frozen.segments()[0][0]
    frozen.objects.client().put_object(Bucket=frozen.objects.bucket, Key=key, Body=b"\x00" * 999)

    assert flaws(frozen) == [("damaged", key)]
    assert rebuild(frozen) == ["store version 2 of it again, which is whole"]
    assert flaws(frozen) == []
    assert promoted(frozen) == 2_000


def test_a_segment_without_a_whole_version_stays_named(frozen: World):
    key = frozen.segments()[0][0]
    s3 = frozen.objects.client()
    for version in s3.list_object_versions(Bucket=frozen.objects.bucket, Prefix=key)["Versions"]:
        s3.delete_object(Bucket=frozen.objects.bucket, Key=key, VersionId=version["VersionId"])

    assert flaws(frozen) == [("missing", key)]
    (action,) = rebuild(frozen)
    assert action == "nothing: no version is whole; 1000 jobs are out of reach"
    assert flaws(frozen) == [("missing", key)]


def damage_for_good(world: World, key: str, *at: int) -> None:
    """These bytes are wrong, and no other version is left."""
    s3, bucket = world.objects.client(), world.objects.bucket
    body = bytearray(s3.get_object(Bucket=bucket, Key=key)["Body"].read())
    for place in at:
        body[place] ^= 1
    for version in s3.list_object_versions(Bucket=bucket, Prefix=key)["Versions"]:
        s3.delete_object(Bucket=bucket, Key=key, VersionId=version["VersionId"])
    s3.put_object(Bucket=bucket, Key=key, Body=bytes(body))


def test_what_can_be_read_of_a_damaged_segment_rings_and_the_rest_is_named(frozen: World, seed: Seeder):
    key, _ = frozen.segments()[0]
    jobs = [job for job in sorted(frozen.accepted) if job_due_hour(job) == HOUR]
    deleted, lost = jobs[5], jobs[BLOCK_RECORDS : 2 * BLOCK_RECORDS]
    assert frozen.delete(deleted)
    (blocks,) = seed.rows("select blocks from cold_segment where object_key = %s", key)[0]
    counted = frozen.database.run(lambda c: cold.count_cold_jobs(c, seed.tenant_id, limit=9))
    damage_for_good(frozen, key, int.from_bytes(blocks[36:40]) + 50)
    frozen.objects.client().put_object(Bucket=frozen.objects.bucket, Key=key, Body=b"\x00")

    left = f"256 jobs are out of reach, in the blocks that begin with {encode('job', lost[0])}"
    assert rebuild(frozen) == [f"store the 744 jobs that can be read as a segment of their own; {left}"]
    assert rebuild(frozen) == [f"nothing more: {left}"]

    assert flaws(frozen) == [("damaged", key)]
    assert frozen.database.run(lambda c: cold.count_cold_jobs(c, seed.tenant_id, limit=9)) == counted
    assert frozen.find(deleted) is None
    assert frozen.delete(jobs[0])
    assert frozen.find(jobs[-1]) is not None
    with pytest.raises(SegmentError):
        frozen.find(lost[7])
    assert promoted(frozen) == 2_000 - len(lost) - 2
    assert seed.rows("select count(*) from job where job_id = any(%s)", lost) == [(0,)]
    assert list(frozen.states().values()) == ["promoting", "promoted"]

    # as docs/operations.md has it, once the lost ones were created again
    seed.rows("update cold_segment set state = 'retired', retired_at = now() where object_key = %s returning 1", key)
    frozen.promote()
    assert set(frozen.states().values()) == {"promoted"}
    assert frozen.database.run(lambda c: cold.count_cold_jobs(c, seed.tenant_id, limit=9)) == {}


def test_nothing_is_made_of_an_object_without_a_whole_block(frozen: World):
    key, _ = frozen.segments()[0]
    s3 = frozen.objects.client()
    damage_for_good(frozen, key)
    s3.put_object(Bucket=frozen.objects.bucket, Key=key, Body=b"")
    damage_for_good(frozen, key)

    (action,) = rebuild(frozen)
    assert action == "nothing: no version is whole; 1000 jobs are out of reach"


@pytest.mark.parametrize(
    "damage",
    [
        "update cold_segment set jobs = jobs - 1 where object_key = %s returning 1",
        "update cold_segment set blocks = substring(blocks from 1 for 20) where object_key = %s returning 1",
        "update cold_segment set last_id = first_id where object_key = %s returning 1",
    ],
    ids=["count", "index", "ids"],
)
def test_a_row_that_does_not_describe_its_object_is_written_anew(frozen: World, seed: Seeder, damage: str):
    before = seed.rows("select first_id, last_id, jobs, bytes, text_bytes, sha256, blocks from cold_segment order by 1")
    key = frozen.segments()[0][0]
    seed.rows(damage, key)

    assert flaws(frozen) == [("catalogue", key)]
    assert rebuild(frozen) == ["write its row anew, from the object"]
    assert flaws(frozen) == []
    after = seed.rows("select first_id, last_id, jobs, bytes, text_bytes, sha256, blocks from cold_segment order by 1")
    assert after == before
    frozen.check()


def test_a_lost_row_is_made_from_its_object(frozen: World, seed: Seeder):
    key = frozen.segments()[0][0]
    (gone, thawed) = list(frozen.accepted)[:2]
    frozen.delete(gone)
    frozen.edit(thawed, "2")
    seed.rows("delete from cold_segment where object_key = %s returning 1", key)

    assert flaws(frozen) == [("lost", key)]
    assert rebuild(frozen) == ["enter it into the catalogue"]
    assert flaws(frozen) == []
    assert frozen.effective().keys() == frozen.accepted.keys()
    assert promoted(frozen) == 1_998
    assert seed.rows("select count(*) from job where job_id = %s", gone) == [(0,)]


def test_what_a_crash_left_is_named_and_removed(frozen: World):
    copies = write_segment(HOUR, frozen.frozen_lines()[:10])
    frozen.objects.put(copies)

    (flaw,) = verify_cold(frozen.database, frozen.objects, now=frozen.now)
    assert (flaw.kind, flaw.key, flaw.harms) == (Flaw.LEFTOVER, copies.key, False)
    assert rebuild(frozen) == ["delete it"]
    assert flaws(frozen) == []


@pytest.mark.parametrize("place", ["in the intake", "hot", "deleted"])
def test_an_object_whose_jobs_are_somewhere_else_is_a_leftover(world: World, objects: ColdObjects, place: str):
    """The freezer was killed between its PUT and its commit."""
    jobs = world.accept(DUE, FEW)
    world.now += OLD
    world.objects = FaultyObjects(bucket=objects.bucket, client=objects.client, faults={"after put": crash})
    with pytest.raises(CrashError):
        world.freeze()
    world.objects = objects
    if place == "hot":
        assert promoted(world) == FEW
    elif place == "deleted":
        assert all(world.delete(job.job_id) for job in jobs)

    assert [kind for kind, _ in flaws(world)] == ["leftover"]
    assert rebuild(world) == ["delete it"]
    assert flaws(world) == []
    world.check()


def test_an_object_that_the_freezer_is_just_about_to_enter_is_left_alone(
    world: World, objects: ColdObjects, monkeypatch: pytest.MonkeyPatch
):
    """Deleted between its PUT and its commit it would be read by its version, and be gone for good in a month."""
    monkeypatch.setattr(service, "ON_ITS_WAY", CENTURY)
    world.accept(DUE, 1_000)
    rebuilt: list[str] = []
    operator = World(Database(world.database._conninfo), objects, world.seed, world.now)
    world.objects = FaultyObjects(
        bucket=objects.bucket, client=objects.client, faults={"after put": lambda: rebuilt.extend(rebuild(operator))}
    )

    assert world.freeze().segments == 1

    operator.database.close()
    assert rebuilt == []
    assert list(objects.list_keys()) == [world.segments()[0][0]]


def test_a_segment_that_is_left_as_a_version_only_is_stored_again(frozen: World):
    key = frozen.segments()[0][0]
    frozen.objects.delete(key)

    assert flaws(frozen) == [("missing", key)]
    assert rebuild(frozen) == ["store version 1 of it again, which is whole"]
    assert flaws(frozen) == []
    assert key in frozen.objects.list_keys()
    frozen.check()


def test_nothing_of_an_hour_that_is_over_comes_back(frozen: World, seed: Seeder):
    """Its tombstones are gone by now: a deleted job would ring again."""
    frozen.objects.put(write_segment(HOUR, [encode_record(cold_job(DUE)).encode()]))
    frozen.now = DUE + hours(26)

    assert [kind for kind, _ in flaws(frozen)] == ["leftover"]


def test_what_is_no_segment_is_left_alone(frozen: World):
    s3 = frozen.objects.client()
    for key in ("cold/readme.txt", "cold/2027-05-11/04/x.ndjson.gz", "cold/2027-13-11/04/x"):
        s3.put_object(Bucket=frozen.objects.bucket, Key=key, Body=b"x")

    assert {kind for kind, _ in flaws(frozen)} == {"foreign"}
    assert all(action.startswith("nothing") for action in rebuild(frozen))
    assert len(list(frozen.objects.list_keys())) == 5


def test_a_segment_with_jobs_of_another_hour_is_damaged(frozen: World):
    lines = sorted(encode_record(cold_job(DUE + hours(n % 2))).encode() for n in range(4))
    stray = write_segment(HOUR, lines)
    key = frozen.segments()[0][0]
    body = replace(stray, key=key)
    version = frozen.objects.put(body)
    frozen.seed.rows(
        "update cold_segment set object_version = %s, bytes = %s, sha256 = %s, blocks = %s, first_id = %s, "
        "last_id = %s, jobs = 4 where object_key = %s returning 1",
        *(version, len(stray.body), stray.sha256, stray.blocks, stray.first_id, stray.last_id, key),
    )

    assert flaws(frozen) == [("damaged", key)]


def test_a_segment_is_known_by_its_bytes_alone():
    lines = sorted(encode_record(cold_job(DUE)).encode() for _ in range(2 * BLOCK_RECORDS + 3))
    written = write_segment(HOUR, lines)

    assert scan_segment(HOUR, written.body) == (written, lines)
    for body in (b"", b"x", written.body[:-1], written.body + b"x", written.body * 2):
        with pytest.raises(BlockError):
            scan_segment(HOUR, body)
