"""What an attempt's result means for its run: a pure decision with a reason."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from hourbell.domain.retry import RetryPolicy, next_delay_ms
from hourbell.domain.run_state import RunState

REASON_ATTEMPTS = "attempts_exhausted"
REASON_AGE = "max_age"
REASON_REFUSED = "refused_by_target"


class AttemptOutcome(StrEnum):
    """How one attempt ended; as the attempt table's constraint has it."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CRASHED = "crashed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptResult:
    """What a target answered.

    ``retryable``: whether another attempt may help. ``retry_after``: what the target asked for. ``accepted``: it works
    on and will report by itself; no outcome yet. ``gone``: it will never be there again, and its job is paused.
    """

    outcome: AttemptOutcome
    accepted: bool = False
    gone: bool = False
    retryable: bool = False
    status_code: int | None = None
    error: str | None = None
    retry_after: timedelta | None = None
    duration_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDecision:
    """The run's next state; ``next_attempt_at`` only for a retry."""

    state: RunState
    reason: str | None = None
    next_attempt_at: datetime | None = None


def decide(
    result: AttemptResult,
    *,
    retry: RetryPolicy,
    attempt: int,
    fire_at: datetime,
    now: datetime,
    random: float,
) -> RunDecision:
    """Decide what follows attempt number ``attempt`` (1, 2, …).

    ``random`` in [0, 1) is the jitter. ``Retry-After`` lengthens a delay and never shortens it.
    """
    if result.outcome is AttemptOutcome.SUCCEEDED:
        return RunDecision(state=RunState.SUCCEEDED)
    if not result.retryable:
        return RunDecision(state=RunState.DEAD, reason=REASON_REFUSED)
    if attempt >= retry.max_attempts:
        return RunDecision(state=RunState.DEAD, reason=REASON_ATTEMPTS)
    delay = timedelta(milliseconds=next_delay_ms(retry, attempt, random))
    if result.retry_after is not None:
        delay = max(delay, result.retry_after)
    next_attempt_at = now + delay
    if next_attempt_at > fire_at + timedelta(milliseconds=retry.max_age_ms):
        return RunDecision(state=RunState.DEAD, reason=REASON_AGE)
    return RunDecision(state=RunState.RETRYING, reason=result.outcome, next_attempt_at=next_attempt_at)
