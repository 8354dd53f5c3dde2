"""Recovery on a real database: whatever got stuck comes up again, and a backlog is not a loss."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta

from hourbell.domain.run_state import Lane
from hourbell.services.reap_runs import Reaped, reap_runs

from tests.integration.engine.test_scan import scan
from tests.seeds import T0, RecordingLanes, Seeder, minutes


def reap(database, lanes, now) -> Reaped:
    return reap_runs(database, lanes, time_left=lambda: True, now=now)


def test_a_lost_message_is_sent_again(database, seed: Seeder, lanes):
    message = seed.run(seed.job())
    assert reap(database, lanes, T0 + timedelta(seconds=29)).looked_at == 0
    assert reap(database, lanes, T0 + timedelta(seconds=31)).sent == 1
    assert [(m.job_id, m.scheduled_for) for m in lanes.sent] == [(message.job_id, T0)]


def test_a_message_that_was_never_sent_goes_out_at_the_next_look_before_its_time(database, seed: Seeder, lanes):
    seed.run(seed.job(), T0 + minutes(1), wake_at=T0)
    lanes.waiting[Lane.SHARED] = 50_000
    assert reap(database, lanes, T0).sent == 1


def test_a_backlog_of_twenty_thousand_is_not_sent_again(database, seed: Seeder, lanes):
    """Workers stopped for ten minutes: the messages wait, nothing is lost, and the queue must not double."""
    seed.jobs(20_000)
    scan(database, lanes)
    assert len(lanes.take()) == 20_000
    lanes.waiting[Lane.SHARED] = 20_000

    sent = sum(reap(database, lanes, T0 + minutes(minute)).sent for minute in range(1, 11))

    assert sent < 20_000 * 0.05


def test_what_a_backlog_cannot_account_for_is_sent_again(database, seed: Seeder, lanes):
    """A thousand wait, the lane holds 900: a hundred messages are missing."""
    for job_id in seed.jobs(1_000):
        seed.run(job_id)
    lanes.waiting[Lane.SHARED] = 900

    assert reap(database, lanes, T0 + minutes(1)).sent == 100


def test_a_message_lost_from_a_busy_lane_is_sent_again(database, seed: Seeder, lanes):
    """A few dozen messages always wait in a lane with traffic; they must not hide the one that is missing."""
    seed.run(seed.job())
    lanes.waiting[Lane.SHARED] = 60

    assert reap(database, lanes, T0 + minutes(1)).sent == 1


def test_a_run_in_a_backlog_is_looked_at_ever_more_rarely(database, seed: Seeder, lanes):
    seed.run(seed.job())
    lanes.waiting[Lane.SHARED] = 1_000
    looks = sum(reap(database, lanes, T0 + timedelta(seconds=30 * half)).looked_at for half in range(1, 120))
    assert 4 <= looks <= 9


def test_a_dead_workers_run_goes_on_in_the_solo_lane_and_its_attempt_crashed(database, seed: Seeder, lanes):
    seed.run(seed.job(), state="running", attempt=1, lease_token=seed.tenant_id, lease_expires_at=T0, wake_at=T0)
    seed.rows(
        "insert into attempt (run_id, scheduled_for, number, started_at) "
        "select run_id, scheduled_for, 1, fire_at from run returning 1"
    )

    assert reap(database, lanes, T0).crashed == 1

    assert seed.rows("select state, lane, lease_token, attempt from run") == [("retrying", "solo", None, 1)]
    assert seed.rows("select outcome from attempt") == [("crashed",)]
    assert [m.lane for m in lanes.sent] == [Lane.SOLO]


def test_a_crash_at_the_attempt_limit_is_dead(database, seed: Seeder, lanes):
    seed.run(seed.job(), state="running", attempt=3, lease_token=seed.tenant_id, lease_expires_at=T0, wake_at=T0)
    assert reap(database, lanes, T0).dead == 1
    assert seed.rows("select state, reason, wake_at from run") == [("dead", "attempts_exhausted", None)]
    assert lanes.sent == []


def test_a_far_retry_is_sent_in_time(database, seed: Seeder, lanes):
    later = T0 + minutes(120)
    seed.run(seed.job(), state="retrying", attempt=1, next_attempt_at=later, wake_at=later - timedelta(seconds=90))
    assert reap(database, lanes, later - timedelta(seconds=91)).looked_at == 0
    assert reap(database, lanes, later - timedelta(seconds=90)).sent == 1
    assert lanes.sent[0].ready_at == later


def test_a_run_that_ended_is_never_looked_at_again(database, seed: Seeder, lanes):
    seed.run(seed.job(), state="succeeded", wake_at=None)
    assert reap(database, lanes, T0 + timedelta(days=300)).looked_at == 0


def test_two_reapers_send_each_lost_run_once(conninfo, database, seed: Seeder, lanes):
    from concurrent.futures import ThreadPoolExecutor

    from hourbell.store.connection import Database

    for job_id in seed.jobs(2_000):
        seed.run(job_id)
    both = [RecordingLanes(), RecordingLanes()]

    def reap_alone(own: RecordingLanes) -> None:
        alone = Database(conninfo)
        reap(alone, own, T0 + minutes(1))
        alone.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(reap_alone, both))
    keys = [m.job_id for own in both for m in own.sent]
    assert len(keys) == len(set(keys)) == 2_000


KILLED_SCANNER = """
import os, sys
from datetime import datetime, timedelta
from hourbell.services.scan_shards import ScanRange, scan_shards
from hourbell.store.connection import Database

class DeadlyLanes:
    def send(self, messages, *, now):
        os.kill(os.getpid(), 9)  # after the commit, before the first message

scan_shards(
    Database(sys.argv[1]), DeadlyLanes(), ScanRange(first_shard=0, last_shard=127), owner="killed",
    horizon=timedelta(seconds=120), time_left=lambda: True, now=datetime.fromisoformat(sys.argv[2]),
)
"""


def test_a_scanner_killed_between_commit_and_send_loses_nothing(database, conninfo, seed: Seeder, lanes):
    jobs = seed.jobs(500)

    killed = subprocess.run(
        [sys.executable, "-c", KILLED_SCANNER, conninfo, T0.isoformat()], env=os.environ, check=False
    )

    assert killed.returncode == -9
    claimed = {run[0] for run in seed.runs()}
    assert claimed
    reap(database, lanes, T0 + timedelta(seconds=31))
    assert {m.job_id for m in lanes.sent} == claimed
    scan(database, lanes, now=T0 + timedelta(seconds=31))
    assert sorted(m.job_id for m in lanes.sent) == sorted(jobs)
