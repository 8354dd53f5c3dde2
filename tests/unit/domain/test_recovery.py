from __future__ import annotations

from datetime import timedelta

from hourbell.domain.recovery import BACKOFF_MAX, WAKE_EARLY, WAKE_GRACE, Wakeful, recover, retry_wake_at
from hourbell.domain.retry import RetryPolicy
from hourbell.domain.run_state import RunState

from tests.seeds import T0

OVERDUE = T0 + WAKE_GRACE


def wakeful(state: RunState = RunState.QUEUED, **kwargs: object) -> Wakeful:
    values = {"attempt": 0, "wakes": 0, "job_deleted": False, "retry": RetryPolicy(max_attempts=3), **kwargs}
    return Wakeful(state=state, next_attempt_at=T0, fire_at=T0, **values)  # type: ignore[arg-type]


def test_an_overdue_run_the_lane_accounts_for_backs_off():
    verdict = recover(wakeful(), now=OVERDUE, missing=False, random=0)
    assert not verdict.send
    assert verdict.wakes == 1


def test_an_overdue_run_nobody_accounts_for_is_sent_again():
    assert recover(wakeful(), now=OVERDUE, missing=True, random=0).send


def test_a_run_that_was_never_sent_goes_out_whatever_the_backlog():
    assert recover(wakeful(), now=T0 - timedelta(seconds=60), missing=False, random=0).send


def test_backing_off_has_an_end():
    verdict = recover(wakeful(wakes=90), now=OVERDUE, missing=False, random=1)
    assert verdict.wake_at == OVERDUE + BACKOFF_MAX


def test_a_crash_counts_as_an_attempt_and_goes_solo():
    verdict = recover(wakeful(RunState.RUNNING, attempt=1), now=T0, missing=False, random=0.5)
    assert (verdict.state, verdict.solo, verdict.crashed, verdict.send) == (RunState.RETRYING, True, True, True)


def test_a_crash_at_the_limit_is_dead():
    verdict = recover(wakeful(RunState.RUNNING, attempt=3), now=T0, missing=False, random=0.5)
    assert (verdict.state, verdict.wake_at, verdict.send) == (RunState.DEAD, None, False)


def test_a_crashed_run_of_a_deleted_job_is_cancelled():
    verdict = recover(wakeful(RunState.RUNNING, attempt=1, job_deleted=True), now=T0, missing=False, random=0.5)
    assert (verdict.state, verdict.send) == (RunState.CANCELLED, False)


def test_the_reaper_looks_after_a_near_retry_and_before_a_far_one():
    near, far = T0 + timedelta(minutes=1), T0 + timedelta(hours=5)
    assert retry_wake_at(near, T0) == near + WAKE_GRACE
    assert retry_wake_at(far, T0) == far - WAKE_EARLY
