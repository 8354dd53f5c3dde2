"""S3 that answers 500 or 503, hangs, trickles, breaks off or resets, at the wire: through the client of the functions.

Freezer, loader, look-ups and the API each meet every fault, with the product's own timeouts, retries and checks, only
shorter. Afterwards each job is in one effective place, and fires once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from hourbell import environment
from hourbell.api.app import Application
from hourbell.api.calls import Api
from hourbell.cold import policy
from hourbell.cold.errors import ColdUnavailableError, SegmentError
from hourbell.cold.objects import ColdObjects
from hourbell.cold.patience import Patience
from hourbell.domain.ids import encode
from hourbell.environment import make_cold_objects
from hourbell.services import freeze_jobs, list_cold_jobs
from hourbell.services.jobs import Scheduler
from hourbell.services.scan_shards import ScanRange, scan_shards
from hourbell.services.verify_cold import verify_cold
from hourbell.store.cold_leases import TTL
from hourbell.store.connection import Database

from tests.cold_jobs import hours
from tests.integration.api.conftest import HORIZON, RULES, Answer, Client
from tests.integration.cold.world import World
from tests.s3_server import FAULTS, FaultyS3, faulty_s3
from tests.seeds import T0, RecordingLanes, Seeder

DUE = T0 + hours(30)
IN_TIME = DUE - hours(2)
WAIT_SECONDS = 30
PATIENT = Patience(silence_seconds=WAIT_SECONDS, attempts=3, seconds=WAIT_SECONDS)
IMPATIENT = Patience(silence_seconds=0.15, attempts=2, seconds=0.25)


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyS3]:
    with faulty_s3() as server:
        for name, value in {
            "AWS_ENDPOINT_URL": server.url,
            "AWS_DEFAULT_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "NO_PROXY": "127.0.0.1",
        }.items():
            monkeypatch.setenv(name, value)
        environment.aws_client.cache_clear()
        yield server
    environment.aws_client.cache_clear()


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two jobs make a segment, three segments a larger one."""
    for module in (policy, freeze_jobs):
        monkeypatch.setattr(module, "FEW", 2)
        monkeypatch.setattr(module, "MERGE", 3)
    monkeypatch.setattr(policy, "FULL", 4)


@pytest.fixture
def database(conninfo: str) -> Iterator[Database]:
    with closing(Database(conninfo)) as opened:
        yield opened


@pytest.fixture
def seed(conninfo: str) -> Iterator[Seeder]:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        yield Seeder(connection)


def bucket(patience: Patience) -> ColdObjects:
    """As the functions make it."""
    return make_cold_objects("cold", patience)


@pytest.fixture
def world(s3: FaultyS3, database: Database, seed: Seeder) -> World:
    return World(database, bucket(PATIENT), seed)


def beside(world: World, conninfo: str) -> World:
    """The same cold tier, for another process."""
    return World(Database(conninfo), world.objects, world.seed, world.now, world.accepted, owners=100)


def with_segments(world: World, segments: int) -> World:
    for _ in range(segments):
        world.accept(DUE, 4)
        assert world.freeze().segments == 1
    return world


def with_merged_segments(world: World) -> World:
    with_segments(world, 2).accept(DUE, 4)
    assert world.freeze().merged == 3
    return world


def impatient(world: World) -> World:
    return replace(world, objects=bucket(IMPATIENT), owners=50)


def everything_fires_once(world: World) -> None:
    world.now = DUE + timedelta(minutes=1)
    world.freeze()
    promoted = world.promote()
    assert (promoted.drained, promoted.broken) == (True, [])
    lanes, everything = RecordingLanes(), ScanRange(first_shard=0, last_shard=127)
    for _ in range(2):
        scan_shards(
            world.database, lanes, everything, owner="s", horizon=HORIZON, time_left=lambda: True, now=world.now
        )
    fired = sorted((message.job_id, message.scheduled_for) for message in lanes.sent)
    assert fired == sorted((job.job_id, job.scheduled_for) for job in world.accepted.values())


@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_s3_does_each_job_stays_in_one_place_and_fires_once(world: World, s3: FaultyS3, fault: str):
    jobs = [*with_segments(world, 2).accepted.values(), *world.accept(DUE, 4)]
    hasty = impatient(world)

    s3.fail(fault)
    frozen = hasty.freeze()
    assert frozen.unstored + frozen.unread == 1
    s3.faults.clear()
    world.check()

    s3.fail(fault, "GET")
    assert hasty.freeze().unread == 1
    with pytest.raises(SegmentError if fault == "altered on the way" else ColdUnavailableError):
        hasty.find(jobs[0].job_id)
    hasty.now = IN_TIME
    promoted = hasty.promote()
    assert (promoted.jobs, promoted.unread, promoted.broken, promoted.drained) == (0, 3, [], False)
    s3.faults.clear()
    world.check()

    assert [world.find(job.job_id) for job in jobs] == jobs
    everything_fires_once(world)


@pytest.mark.parametrize("fault", ["500", "503", "reset before", "reset after"])
def test_what_s3_refuses_once_is_asked_for_again_at_once(world: World, s3: FaultyS3, fault: str):
    (job, *_) = world.accept(DUE, 4)
    s3.fail(fault, "PUT", times=1)
    assert world.freeze().unstored == 0
    s3.fail(fault, "GET", times=1)
    assert world.find(job.job_id) == job
    s3.fail(fault, "GET", times=1)
    world.now = IN_TIME
    assert world.promote().jobs == 4
    assert s3.asked == ["PUT", "PUT", "HEAD", "GET", "GET", "GET", "GET"]
    everything_fires_once(world)


@pytest.mark.parametrize("fault", ["503", "hang", "reset after"])
def test_what_cannot_be_deleted_is_deleted_later_and_nothing_twice(world: World, s3: FaultyS3, fault: str):
    with_merged_segments(world)
    world.now += freeze_jobs.GRACE + timedelta(minutes=1)
    s3.asked.clear()
    s3.fail(fault, "DELETE")
    hasty = impatient(world)
    assert hasty.freeze().removed == 0
    s3.faults.clear()
    assert world.freeze().removed == 3
    assert world.freeze().removed == 0
    assert s3.asked.count("DELETE") <= 2 + 3
    everything_fires_once(world)


def test_a_slow_s3_ends_a_removal_in_the_middle_and_the_next_goes_on_there(world: World, s3: FaultyS3):
    with_merged_segments(world)
    world.now += freeze_jobs.GRACE + timedelta(minutes=1)
    asked = s3.asked

    def freeze(deletes: int) -> int:
        asked.clear()
        return freeze_jobs.freeze_jobs(
            world.database,
            world.objects,
            owner=f"until {deletes}",
            time_left=lambda: asked.count("DELETE") < deletes,
            now=world.now,
        ).removed

    assert [freeze(1), freeze(1), freeze(9)] == [1, 1, 1]


def test_no_transaction_is_open_and_the_lease_is_new_whenever_s3_is_waited_for(
    world: World, s3: FaultyS3, conninfo: str
):
    """A transaction that waits for a slow S3 takes a connection from all others, and keeps vacuum from working."""
    seen: list[tuple[str, int, str | None]] = []
    with psycopg.connect(conninfo, autocommit=True) as connection:

        def watch(method: str) -> None:
            (open_ones,) = connection.execute(
                "select count(*) from pg_stat_activity where datname = current_database() and xact_start is not null "
                "and backend_type = 'client backend' and pid <> pg_backend_pid()"
            ).fetchone() or (None,)
            (renewal,) = connection.execute(
                "select xmin::text from cold_lease order by age(xmin) limit 1"
            ).fetchone() or (None,)
            seen.append((method, open_ones, renewal))

        with_segments(world, 2).accept(DUE, 4)
        s3.watch = watch
        assert world.freeze().merged == 3
        with_segments(world, 1).find(next(iter(world.accepted)))
        world.now = IN_TIME
        assert world.promote().jobs == 16

    merging, writing, finding, promoting = ["GET"] * 3 + ["PUT", "HEAD"], ["PUT", "HEAD"], ["GET"], ["GET"] * 2
    assert [method for method, _, _ in seen] == [*writing, *merging, *writing, *finding, *promoting]
    assert {open_ones for _, open_ones, _ in seen} == {0}
    leases = [lease for method, _, lease in seen if method != "HEAD"]
    del leases[-3]  # who finds a job needs none
    assert len(set(leases)) == len(leases)


def test_a_loader_renews_its_lease_also_after_a_refusal(world: World, s3: FaultyS3):
    with_segments(world, 2)
    leases: list[tuple[str]] = []
    s3.watch = lambda _method: leases.extend(
        world.seed.rows("select xmin::text from cold_lease where name = 'promote'")
    )
    s3.fail("503", "GET", times=IMPATIENT.attempts)
    world.now = IN_TIME
    assert replace(world, objects=bucket(replace(IMPATIENT, seconds=WAIT_SECONDS))).promote().jobs == 4
    assert len(set(leases)) == 2


@pytest.mark.parametrize(("method", "act"), [("PUT", World.freeze), ("GET", World.promote)])
def test_who_waited_for_s3_past_the_lease_writes_nothing_more(
    world: World, s3: FaultyS3, conninfo: str, method: str, act: Callable[[World], Any]
):
    with_segments(world, 1)
    world.accept(DUE, 4)
    if method == "GET":
        world.freeze()
        world.now = IN_TIME
    waits, goes_on = threading.Event(), threading.Event()

    def watch(asked: str) -> None:
        if asked == method and not waits.is_set():
            waits.set()
            goes_on.wait(WAIT_SECONDS)

    s3.watch = watch
    stalled = beside(world, conninfo)
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(act(stalled)))
    thread.start()
    assert waits.wait(WAIT_SECONDS)
    assert act(world).held_elsewhere
    world.now += TTL + timedelta(milliseconds=1)
    assert act(world).jobs > 0
    before = world.seed.rows("select * from cold_segment, job order by 1, 2")
    goes_on.set()
    thread.join()
    stalled.database.close()

    assert done[0].jobs == 0
    assert world.seed.rows("select * from cold_segment, job order by 1, 2") == before
    world.check()
    everything_fires_once(world)


def test_a_put_that_s3_carries_out_late_takes_no_segment_away(world: World, s3: FaultyS3):
    """It makes the version that the catalogue names an old one; S3 removes those after a month."""
    jobs = with_segments(world, 1).accept(DUE, 4)
    s3.fail("reset after", "PUT", times=1)
    assert world.freeze().segments == 1
    for key, versions in s3.versions.items():
        s3.put(key, versions[-1].body)
        del versions[:-1]

    assert [world.find(job.job_id) for job in jobs] == jobs
    assert list(verify_cold(world.database, world.objects, now=world.now)) == []
    world.check()
    everything_fires_once(world)


def test_an_s3_that_is_away_is_left_alone_until_the_next_tick(world: World, s3: FaultyS3):
    refusals = freeze_jobs.REFUSALS
    for hour in range(refusals + 9):
        world.accept(DUE + hours(hour), 4)
    s3.fail("503")
    frozen = impatient(world).freeze()
    assert (frozen.jobs, frozen.unstored, frozen.drained) == (0, refusals, False)
    s3.faults.clear()
    assert world.freeze().segments == refusals + 9


# --- the API ---


@pytest.fixture
def api(world: World, postgres, database_name: str) -> Iterator[Client]:
    """Whoever has the jobs of ``world``, with a bucket that is soon given up."""
    with closing(Database(postgres.conninfo(database=database_name, user="hourbell_api"))) as database:
        scheduler = Scheduler(database=database, lanes=RecordingLanes(), horizon=HORIZON, cold=bucket(IMPATIENT))
        application = Application(
            Api(
                scheduler=scheduler,
                stage_key=lambda: b"stage secret",
                target_rules=lambda: RULES,
                pause=lambda _seconds: None,
            )
        )
        yield Client(application, world.seed.tenant_id, now=world.now)


@pytest.mark.parametrize("fault", ["503", "hang", "trickled head", "trickled body", "cut in the body", "reset before"])
def test_the_api_says_in_time_that_the_cold_tier_does_not_answer(world: World, s3: FaultyS3, api: Client, fault: str):
    with_segments(world, 1)
    job = f"/v1/jobs/{encode('job', min(world.accepted))}"
    api.application._api.scheduler.cold.client()  # type: ignore[union-attr]
    s3.fail(fault)
    asked: list[Callable[[], Answer]] = [
        lambda: api.get(job),
        lambda: api.patch(job, {"payload": 2}),
        lambda: api.delete(job),
        lambda: api.post(f"{job}/trigger", {}),
        lambda: api.get("/v1/jobs", query={"tier": "cold"}),
    ]
    for ask in asked:
        answer = ask()
        assert (answer.status, answer.json["type"].rpartition(":")[2]) == (503, "unavailable")
        assert "retry-after" in answer.headers
    s3.faults.clear()
    world.check()
    world.objects = bucket(PATIENT)
    everything_fires_once(world)


def test_a_page_of_a_slow_s3_is_short_and_says_where_to_go_on(
    world: World, api: Client, monkeypatch: pytest.MonkeyPatch
):
    for hour in range(3):
        world.accept(DUE + hours(hour), 4)
    assert world.freeze().segments == 3
    patient = bucket(PATIENT)
    object.__setattr__(api.application._api.scheduler, "cold", patient)
    monkeypatch.setattr(list_cold_jobs, "REQUEST_SECONDS", WAIT_SECONDS)  # nothing is left after the first read
    found: list[str] = []
    cursor: str | None = ""
    pages = 0
    while cursor is not None:
        page = api.get("/v1/jobs", query={"tier": "cold", **({"cursor": cursor} if cursor else {})}).json
        found += [item["id"] for item in page["items"]]
        cursor, pages = page["next_cursor"], pages + 1
    in_order = sorted(world.accepted.values(), key=lambda job: (job.scheduled_for, job.job_id))
    assert found == [encode("job", job.job_id) for job in in_order]
    assert pages > 3
