from __future__ import annotations

from datetime import timedelta

import pytest
from hourbell.domain.outcome import AttemptOutcome, AttemptResult, RunDecision, decide
from hourbell.domain.retry import RetryPolicy
from hourbell.domain.run_state import RunState

from tests.seeds import T0

POLICY = RetryPolicy(max_attempts=3, initial_ms=1_000, maximum_ms=60_000, max_age_ms=3_600_000)


def decided(result: AttemptResult, *, attempt: int = 1, random: float = 0.5, after: float = 0) -> RunDecision:
    now = T0 + timedelta(seconds=after)
    return decide(result, retry=POLICY, attempt=attempt, fire_at=T0, now=now, random=random)


def failed(**kwargs: object) -> AttemptResult:
    return AttemptResult(outcome=AttemptOutcome.FAILED, retryable=True, **kwargs)  # type: ignore[arg-type]


def test_success_ends_a_run():
    assert decided(AttemptResult(outcome=AttemptOutcome.SUCCEEDED)) == RunDecision(state=RunState.SUCCEEDED)


@pytest.mark.parametrize(("attempt", "delay"), [(1, 0.5), (2, 1.0)])
def test_a_retry_waits_twice_as_long_each_time_with_full_jitter(attempt: int, delay: float):
    decision = decided(failed(), attempt=attempt)
    assert (decision.state, decision.next_attempt_at) == (RunState.RETRYING, T0 + timedelta(seconds=delay))


def test_the_attempt_limit_makes_it_dead():
    assert decided(failed(), attempt=3) == RunDecision(state=RunState.DEAD, reason="attempts_exhausted")


def test_a_final_answer_makes_it_dead_at_once():
    result = AttemptResult(outcome=AttemptOutcome.FAILED, retryable=False)
    assert decided(result) == RunDecision(state=RunState.DEAD, reason="refused_by_target")


def test_retry_after_lengthens_the_delay():
    decision = decided(failed(retry_after=timedelta(seconds=90)))
    assert decision.next_attempt_at == T0 + timedelta(seconds=90)


def test_retry_after_never_shortens_it():
    assert decided(failed(retry_after=timedelta(0))).next_attempt_at == T0 + timedelta(seconds=0.5)


def test_a_retry_past_the_maximum_age_is_not_made():
    assert decided(failed(), after=3_600) == RunDecision(state=RunState.DEAD, reason="max_age")
