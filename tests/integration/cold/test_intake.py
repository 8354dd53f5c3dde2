"""The intake: accepted, found, listed, counted and taken out by address; names; the lock that keeps promotion away."""

from __future__ import annotations

import threading

import psycopg
import pytest
from hourbell.domain.ids import due_hour_of, job_due_hour
from hourbell.services.cold_jobs import add_cold_jobs, find_cold_job, list_cold_jobs, take_cold_job
from hourbell.store import cold, cold_segments

from tests.cold_jobs import cold_job, hours
from tests.seeds import T0, Seeder

DUE = T0 + hours(30)
HOUR = due_hour_of(DUE)


def accept(database, seed: Seeder, *jobs):
    def work(connection):
        assert cold.share_buckets(connection, {job_due_hour(job.job_id) for job in jobs})
        add_cold_jobs(connection, seed.tenant_id, jobs, now=T0)

    database.run(work)


def mine(seed: Seeder, at=DUE, **values):
    return cold_job(at, tenant_id=seed.tenant_id, target_id=seed.target_id, **values)


def test_an_accepted_job_is_found_by_its_address(database, objects, seed: Seeder):
    job = mine(seed)
    accept(database, seed, job)
    assert find_cold_job(database, objects, seed.tenant_id, job.job_id) == job


def test_another_tenants_job_is_as_unknown_as_any(database, objects, seed: Seeder):
    job = mine(seed)
    accept(database, seed, job)
    stranger = seed.tenant("stranger")
    assert find_cold_job(database, objects, stranger, job.job_id) is None
    assert list_cold_jobs(database, objects, stranger, due_hour=HOUR, limit=10) == []
    assert database.run(lambda c: cold.count_cold_jobs(c, stranger, limit=10)) == {}


def test_accepting_again_after_an_unheard_commit_changes_nothing(database, seed: Seeder):
    job = mine(seed)
    accept(database, seed, job)
    accept(database, seed, job)
    assert seed.rows("select count(*) from cold_intake") == [(1,)]


def test_a_job_is_taken_out_once_and_for_good(database, objects, seed: Seeder):
    job = mine(seed)
    accept(database, seed, job)
    assert database.run(lambda c: take_cold_job(c, job, now=T0))
    assert not database.run(lambda c: take_cold_job(c, job, now=T0))
    assert find_cold_job(database, objects, seed.tenant_id, job.job_id) is None
    accept(database, seed, job)
    assert find_cold_job(database, objects, seed.tenant_id, job.job_id) is None


def test_jobs_are_counted_and_listed_hour_by_hour(database, objects, seed: Seeder):
    jobs = sorted([mine(seed) for _ in range(5)], key=lambda job: job.job_id)
    later = mine(seed, DUE + hours(1))
    accept(database, seed, *jobs, later)
    assert database.run(lambda c: cold.count_cold_jobs(c, seed.tenant_id, limit=10)) == {HOUR: 5, HOUR + 1: 1}
    assert database.run(lambda c: cold.count_cold_jobs(c, seed.tenant_id, hours=(HOUR + 1, HOUR + 9), limit=10)) == {
        HOUR + 1: 1
    }
    page = list_cold_jobs(database, objects, seed.tenant_id, due_hour=HOUR, limit=3)
    rest = list_cold_jobs(database, objects, seed.tenant_id, due_hour=HOUR, after_id=page[-1].job_id, limit=3)
    assert page + rest == jobs


def test_a_target_is_used_as_long_as_a_cold_job_has_it(database, seed: Seeder):
    job = mine(seed)
    assert not database.run(lambda c: cold.is_target_cold(c, seed.target_id))
    accept(database, seed, job)
    assert database.run(lambda c: cold.is_target_cold(c, seed.target_id))
    database.run(lambda c: take_cold_job(c, job, now=T0))
    assert not database.run(lambda c: cold.is_target_cold(c, seed.target_id))


def test_a_name_is_unique_over_both_tiers_and_free_once_its_job_left(database, seed: Seeder):
    job, other = mine(seed, name="x"), mine(seed, name="x")
    seed.job(name="hot")

    def hold(name, wanted):
        def work(connection):
            cold.lock_names(connection, seed.tenant_id, [name])
            if cold.find_named_jobs(connection, seed.tenant_id, [name]).get(name, wanted.job_id) != wanted.job_id:
                return set()
            return cold.hold_names(connection, seed.tenant_id, {name: wanted.job_id})

        return database.run(work)

    assert hold("hot", job) == set()
    assert hold("x", job) == {job.job_id}
    assert hold("x", job) == {job.job_id}
    assert hold("x", other) == set()
    accept(database, seed, job)
    database.run(lambda c: take_cold_job(c, job, now=T0))
    assert hold("x", other) == {other.job_id}


def test_two_who_want_one_name_decide_one_after_the_other(conninfo, database, seed: Seeder):
    decided = threading.Event()

    def second() -> None:
        with psycopg.connect(conninfo) as connection:
            cold.lock_names(connection, seed.tenant_id, ["b", "a"])
            decided.set()

    thread = threading.Thread(target=second)
    with psycopg.connect(conninfo) as first:
        cold.lock_names(first, seed.tenant_id, ["a"])
        thread.start()
        waits = "select count(*) from pg_locks where locktype = 'advisory' and not granted"
        while seed.rows(waits) != [(1,)]:
            assert not decided.is_set()
    thread.join()
    assert decided.is_set()


def test_a_bucket_that_is_being_promoted_takes_no_cold_jobs(database, seed: Seeder):
    assert database.run(lambda c: cold.share_buckets(c, {HOUR, HOUR + 1})) == {HOUR, HOUR + 1}
    seed.rows("update cold_bucket set state = 'promoting' where due_hour = %s returning 1", HOUR)
    assert database.run(lambda c: cold.share_buckets(c, {HOUR, HOUR + 1})) == {HOUR + 1}


def test_creates_share_a_bucket_and_promotion_waits_for_them(conninfo, database, seed: Seeder):
    database.run(lambda c: cold.share_buckets(c, {HOUR}))
    with psycopg.connect(conninfo) as one, psycopg.connect(conninfo) as other:
        cold.share_buckets(one, {HOUR})
        cold.share_buckets(other, {HOUR})
        (free,) = seed.connection.execute(
            "select count(*) from (select 1 from cold_bucket for no key update skip locked) as free"
        ).fetchone() or (None,)
        assert free == 0


@pytest.mark.parametrize("state", ["open", "promoting", "promoted"])
def test_who_has_a_bucket_alone_has_it_in_whatever_state(conninfo, database, seed: Seeder, state: str):
    database.run(lambda c: cold.share_buckets(c, {HOUR}))
    seed.rows("update cold_bucket set state = %s returning 1", state)
    with psycopg.connect(conninfo) as loader:
        assert cold_segments.lock_open_buckets(loader, [HOUR]) == ({HOUR} if state == "open" else set())
        free = seed.rows("select count(*) from (select 1 from cold_bucket for share skip locked) as free")
        assert free == [(0,)]
