"""The loader: every job of an hour becomes hot, once, in time, whatever dies on the way."""

from __future__ import annotations

import threading
from datetime import timedelta
from itertools import count

import psycopg
import pytest
from hourbell.cold.objects import ColdObjects
from hourbell.cold.policy import FEW, OLD
from hourbell.domain.ids import due_hour_of, shard_of
from hourbell.services.cold_jobs import take_cold_job
from hourbell.services.freeze_jobs import GRACE
from hourbell.services.promote_jobs import Promoted
from hourbell.services.scan_shards import ScanRange, scan_shards
from hourbell.store import cold
from hourbell.store.connection import Database

from tests.cold_jobs import hours
from tests.integration.cold.world import CrashError, FaultyDatabase, FaultyObjects, World, crash, unavailable
from tests.seeds import T0

DUE = T0 + hours(30) + timedelta(minutes=20)
HOUR = due_hour_of(DUE)
IN_TIME = T0 + hours(28)
ONE_MS = timedelta(milliseconds=1)


@pytest.fixture
def frozen(world: World) -> World:
    """Two segments and some rows in the intake, for one hour; the hour is to be promoted now."""
    for _ in range(2):
        world.accept(DUE, FEW)
        world.now += OLD
        world.freeze()
    world.accept(DUE, 7)
    world.now = IN_TIME
    return world


def hot(world: World) -> int:
    return int(world.seed.rows("select count(*) from job inner join due using (job_id)")[0][0])


def test_an_hour_is_promoted_two_hours_before_it_begins_and_not_earlier(frozen: World):
    frozen.now = IN_TIME - ONE_MS
    assert frozen.promote() == Promoted()
    frozen.check()
    frozen.now = IN_TIME
    assert frozen.promote() == Promoted(jobs=2 * FEW + 7, hours=1)
    assert hot(frozen) == 2 * FEW + 7
    assert frozen.states() == {HOUR: "promoted"}
    frozen.check()


def test_a_promoted_job_is_the_job_that_was_accepted(world: World):
    tags, retry = '{"team": "payments"}', '{"max_attempts": 3}'
    payload = '{"a":"\\\\ \\u0000 \\n ü💥","b":[1e5]}'
    (job,) = world.accept(
        DUE, name="x", payload=payload, window_ms=60_000, fire_at=DUE + ONE_MS, tags=tags, retry=retry, overlap="skip"
    )
    world.database.run(lambda c: cold.hold_names(c, world.seed.tenant_id, {"x": job.job_id}))
    world.now = IN_TIME
    world.promote()
    (row,) = world.seed.rows(
        "select job.tenant_id, target_id, name, state, schedule, schedule_version, payload, window_ms, catch_up::text, "
        "overlap, retry::text, timeout_ms, tags::text, version, created_at, updated_at, shard_id, next_run_at, "
        "scheduled_for from job inner join due using (job_id)"
    )
    assert row == (
        *(job.tenant_id, job.target_id, "x", "active", job.schedule, 1, payload, 60_000),
        *('{"policy": "run_once", "within": null}', "skip", retry, job.timeout_ms, tags, 1, T0, T0),
        *(shard_of(job.job_id), DUE + ONE_MS, DUE),
    )
    assert world.seed.rows("select count(*) from cold_name") == [(0,)]


def test_the_last_instant_of_an_hour_belongs_to_it_and_the_next_to_the_next(world: World):
    start = T0 + hours(30)
    last, first = world.accept(start + hours(1) - ONE_MS)[0], world.accept(start + hours(1))[0]
    world.now = start - hours(2)
    world.promote()
    assert world.seed.rows("select job_id from job") == [(last.job_id,)]
    world.now += hours(1) - ONE_MS
    world.promote()
    assert world.find(first.job_id) == first
    world.now += ONE_MS
    world.promote()
    assert world.find(first.job_id) is None
    world.check()


def test_a_create_for_an_hour_that_is_promoted_goes_to_the_hot_tier(frozen: World):
    frozen.promote()
    frozen.accept(DUE)
    assert hot(frozen) == 2 * FEW + 8
    frozen.check()


def test_a_create_in_flight_is_waited_for(world: World, conninfo):
    """It found the bucket open: whatever it commits is promoted."""
    world.accept(DUE)
    world.now = IN_TIME
    promoted = threading.Event()

    def load() -> None:
        database = Database(conninfo)
        World(database, world.objects, world.seed, now=IN_TIME).promote()
        database.close()
        promoted.set()

    loader = threading.Thread(target=load)
    with psycopg.connect(conninfo) as creating:
        assert cold.share_buckets(creating, {HOUR}) == {HOUR}
        loader.start()
        while world.seed.rows("select count(*) from pg_locks where not granted") == [(0,)]:
            assert not promoted.is_set()
        ((job_id,),) = world.seed.rows("select job_id from cold_intake")
        taken = world.find(job_id)
        assert taken is not None
        assert take_cold_job(creating, taken, now=T0)
        del world.accepted[job_id]
    loader.join()
    assert hot(world) == 0
    world.check()


def test_what_was_deleted_or_edited_is_not_promoted(frozen: World):
    first, second, *_ = [job for job in frozen.accepted]
    frozen.now = T0
    assert frozen.delete(first)
    assert frozen.edit(second, '"edited"')
    frozen.now = IN_TIME
    assert frozen.promote().jobs == 2 * FEW + 7 - 2
    assert frozen.seed.rows("select payload from job where job_id = %s", second) == [('"edited"',)]
    frozen.check()


def test_a_cold_job_can_be_deleted_while_its_hour_is_promoted(frozen: World, objects):
    """In the middle of it: what is hot already is told apart from what is not yet."""
    early, *_, late = sorted(frozen.accepted)[: 2 * FEW]
    found = {job_id: frozen.find(job_id) for job_id in (early, late)}
    left = count(3)
    frozen.promote(time_left=lambda: next(left) < 6, chunk=FEW // 2)
    assert 7 < hot(frozen) < 2 * FEW
    assert frozen.states() == {HOUR: "promoting"}
    taken = {job_id: frozen.database.run(lambda c, j=job_id: take_cold_job(c, found[j], now=T0)) for job_id in found}
    assert taken == {early: False, late: True}
    del frozen.accepted[late]
    frozen.promote()
    frozen.check()
    assert hot(frozen) == 2 * FEW + 7 - 1


def test_a_huge_hour_goes_on_in_the_next_invocation(frozen: World):
    invocations = 0
    while not frozen.promote(time_left=iter([True] * 4 + [False] * 9).__next__, chunk=FEW // 4).drained:
        invocations += 1
        frozen.check()
    assert invocations > 2
    assert hot(frozen) == 2 * FEW + 7


@pytest.mark.parametrize("when", ["fail_before", "fail_after"])
@pytest.mark.parametrize("transaction", range(8))
def test_a_crash_at_any_transaction_repeats_nothing_and_leaves_nothing_out(
    frozen: World, conninfo, when: str, transaction: int
):
    faulty = FaultyDatabase(conninfo)
    frozen.database = faulty
    setattr(faulty, when, transaction)
    with pytest.raises(CrashError):
        frozen.promote(chunk=FEW // 2)
    faulty.fail_before = faulty.fail_after = None
    frozen.check()
    frozen.now += timedelta(seconds=61)
    frozen.promote()
    frozen.check()
    assert hot(frozen) == 2 * FEW + 7
    assert frozen.states() == {HOUR: "promoted"}
    faulty.close()


def test_a_crash_between_segments_is_taken_up(frozen: World, objects):
    gets = iter([False, True])
    frozen.objects = FaultyObjects(
        bucket=objects.bucket, client=objects.client, faults={"before get": lambda: crash() if next(gets) else None}
    )
    with pytest.raises(CrashError):
        frozen.promote()
    frozen.objects = objects
    frozen.check()
    assert frozen.promote().jobs == FEW
    frozen.check()


def test_an_s3_that_does_not_answer_is_asked_again_at_the_next_tick(frozen: World, objects):
    frozen.objects = FaultyObjects(bucket=objects.bucket, client=objects.client, faults={"before get": unavailable})
    assert frozen.promote() == Promoted(jobs=7, unread=2, drained=False)
    frozen.objects = objects
    frozen.now += hours(1)
    assert frozen.promote().jobs == 2 * FEW


def damage(objects: ColdObjects, key: str, how: str) -> None:
    client = objects.client()
    body = bytearray(client.get_object(Bucket=objects.bucket, Key=key)["Body"].read())
    for version in client.list_object_versions(Bucket=objects.bucket, Prefix=key)["Versions"]:
        client.delete_object(Bucket=objects.bucket, Key=key, VersionId=version["VersionId"])
    if how == "missing":
        return
    if how == "truncated":
        del body[-100:]
    else:
        body[len(body) // 2] ^= 1
    client.put_object(Bucket=objects.bucket, Key=key, Body=bytes(body))


@pytest.mark.parametrize(
    ("how", "detail"),
    [("missing", "is missing"), ("truncated", "bytes instead of"), ("flipped", "its SHA-256 is not the catalogue's")],
)
def test_a_broken_segment_is_named_and_the_rest_of_the_hour_is_promoted(world: World, objects, how: str, detail: str):
    """It is tried again each time, and the hour is not done before: without versions, so that the key is read."""
    for _ in range(2):
        world.accept(DUE, FEW)
        world.now += OLD
        world.freeze()
    world.seed.rows("update cold_segment set object_version = null returning 1")
    (key, _), _ = world.segments()
    whole = objects.client().get_object(Bucket=objects.bucket, Key=key)["Body"].read()
    damage(objects, key, how)
    world.now = IN_TIME + hours(1)

    for _ in range(2):
        promoted = world.promote()
        assert (promoted.broken, promoted.drained, promoted.late) == ([key], False, 1)
        assert hot(world) == FEW
        assert world.states() == {HOUR: "promoting"}
        ((error,),) = world.seed.rows("select error from cold_segment where object_key = %s", key)
        assert detail in error

    objects.client().put_object(Bucket=objects.bucket, Key=key, Body=whole)
    assert world.promote() == Promoted(jobs=FEW, hours=1)
    assert world.seed.rows("select count(*) from cold_segment where error is not null") == [(0,)]
    world.check()


def test_a_record_that_the_job_table_refuses_stops_neither_its_hour_nor_others(world: World):
    world.accept(DUE, 3, overlap="nonsense")
    good = world.accept(DUE + hours(1))
    world.now = IN_TIME + hours(1)
    promoted = world.promote()
    assert len(promoted.broken) == 1
    assert world.seed.rows("select job_id from job") == [(good[0].job_id,)]
    world.check()


def test_a_second_loader_exits_quietly_and_two_at_once_promote_each_job_once(frozen: World, conninfo, objects):
    frozen.seed.rows("insert into cold_lease values ('promote', 'other', 1, %s) returning 1", IN_TIME + hours(1))
    assert frozen.promote() == Promoted(held_elsewhere=True)
    frozen.seed.rows("delete from cold_lease returning 1")
    start = threading.Barrier(2)
    results = []

    def load() -> None:
        database = Database(conninfo)
        start.wait()
        results.append(
            World(database, objects, frozen.seed, now=IN_TIME, owners=threading.get_ident()).promote(chunk=9)
        )
        database.close()

    threads = [threading.Thread(target=load) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(result.jobs for result in results) == 2 * FEW + 7
    frozen.check()


def test_a_loader_that_lost_its_lease_writes_nothing_more(frozen: World, objects):
    def lose() -> None:
        frozen.seed.rows("update cold_lease set owner = 'other', expires_at = 'infinity' returning 1")

    frozen.objects = FaultyObjects(bucket=objects.bucket, client=objects.client, faults={"before get": lose})
    promoted = frozen.promote()
    assert (promoted.jobs, promoted.drained) == (7, False)
    assert frozen.seed.rows("select owner from cold_lease where name = 'promote'") == [("other",)]


def test_a_straggler_of_a_promoted_hour_is_promoted(frozen: World):
    """However it got there: a segment that was repaired, a row of an older release."""
    frozen.promote()
    (straggler,) = frozen.accept(DUE + hours(5))
    frozen.seed.rows("update cold_intake set due_hour = %s returning 1", HOUR)
    assert frozen.promote().jobs == 1
    frozen.check()
    assert straggler.job_id in frozen.accepted


def test_a_name_that_somebody_has_by_now_does_not_keep_a_job_from_firing(world: World):
    (job,) = world.accept(DUE, name="x")
    world.seed.job(name="x")
    world.now = IN_TIME
    world.promote()
    assert world.seed.rows("select name, state from job where job_id = %s", job.job_id) == [(None, "active")]


def test_newer_zone_data_moves_a_local_time_on_its_way_into_the_hot_tier(world: World):
    """Computed as if Paris had no summer time; today's data knows better."""
    at = T0 + hours(48)
    schedule = '{"at":"2027-05-11T13:00:00","timezone":"Europe/Paris","gap":"run","repeat":"once"}'
    (old,) = world.accept(at, schedule=schedule, window_ms=1, zone_data="1900a")
    (same,) = world.accept(at, schedule=schedule)
    world.now = at - hours(2)
    world.promote()
    assert dict(world.seed.rows("select job_id, scheduled_for from due")) == {
        old.job_id: at - hours(1),
        same.job_id: at,
    }


def test_a_day_after_an_hour_everything_of_it_is_gone(frozen: World, objects):
    frozen.now = T0
    frozen.delete(next(iter(frozen.accepted)))
    frozen.now = IN_TIME
    frozen.promote()
    frozen.now = DUE + GRACE
    frozen.freeze()
    assert frozen.states() == {HOUR: "promoted"}
    frozen.now = DUE + GRACE + hours(1)
    assert frozen.freeze().removed == 2
    for table in ("cold_bucket", "cold_segment", "cold_content", "cold_tombstone", "cold_intake"):
        assert frozen.seed.rows(f"select count(*) from {table}") == [(0,)]  # noqa: S608
    assert "Contents" not in objects.client().list_objects_v2(Bucket=objects.bucket)
    frozen.check()


def test_every_promoted_job_fires_once(frozen: World, lanes):
    frozen.promote()
    everything = ScanRange(first_shard=0, last_shard=127)
    for _ in range(2):
        scan_shards(
            frozen.database,
            lanes,
            everything,
            owner="scanner",
            horizon=timedelta(seconds=120),
            time_left=lambda: True,
            now=DUE,
        )
    assert sorted(message.job_id for message in lanes.sent) == sorted(frozen.accepted)
    assert {message.scheduled_for for message in lanes.sent} == {DUE}


def test_the_loaders_role_may_do_all_of_this(frozen: World, postgres, database_name):
    database = Database(postgres.conninfo(database=database_name, user="hourbell_loader"))
    frozen.database = database
    frozen.promote()
    frozen.now = DUE + GRACE + hours(1)
    frozen.freeze()
    assert hot(frozen) == 2 * FEW + 7
    database.close()


def test_the_lines_of_a_chunk_are_not_compared_each_with_each(world: World):
    """Joined to what was inserted, ten thousand lines took seven seconds; hashed they take a few milliseconds."""
    from hourbell.store.sql import query

    plan = world.seed.connection.execute(b"explain " + query("promote_jobs"), {"records": "{}"}).fetchall()
    assert any("hashed SubPlan" in line for (line,) in plan)


def test_two_jobs_with_one_name_are_promoted_both(world: World):
    """It cannot be, and if it is, one of them keeps the name and both ring."""
    world.accept(DUE, 2, name="x")
    world.now = IN_TIME
    assert world.promote().jobs == 2
    assert sorted(world.seed.rows("select coalesce(name, '') from job")) == [("",), ("x",)]
