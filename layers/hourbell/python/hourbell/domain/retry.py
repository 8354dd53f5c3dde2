"""How often, how long and how soon a failed run is attempted again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from hourbell.domain.durations import duration_ms, format_duration, parse_duration
from hourbell.domain.errors import FieldError, FieldErrors, shown
from hourbell.domain.limits import MAX_ATTEMPTS_LIMIT, RETRY_DELAY_MAX_MS, RETRY_MAX_AGE_MS


class Backoff(StrEnum):
    """How the delay grows from one attempt to the next."""

    EXPONENTIAL = "exponential"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """An attempt limit always exists; `max_age_ms` counts from the run's first fire_at."""

    max_attempts: int = 5
    backoff: Backoff = Backoff.EXPONENTIAL
    initial_ms: int = 10_000
    maximum_ms: int = 3_600_000
    max_age_ms: int = 86_400_000


def next_delay_ms(policy: RetryPolicy, attempt: int, random: float) -> int:
    """Milliseconds to wait after the failure of `attempt` (1, 2, …), with `random` drawn from [0, 1).

    Exponential with full jitter: anywhere up to min(maximum, initial * 2**(attempt - 1)), so that a fleet
    that failed together comes back apart (AWS Architecture Blog, "Exponential Backoff And Jitter").
    """
    if policy.backoff is Backoff.FIXED:
        return min(policy.initial_ms, policy.maximum_ms)
    ceiling = min(policy.maximum_ms, policy.initial_ms << min(attempt - 1, 64))
    return int(ceiling * random)


_KNOWN = ("max_attempts", "backoff", "initial", "maximum", "max_age")


def parse_retry_policy(mapping: object, *, field: str = "retry") -> RetryPolicy:
    """From the API's shape; absent and null members take their defaults. Raises `FieldErrors`."""
    if mapping is None:
        return RetryPolicy()
    if not isinstance(mapping, Mapping):
        raise FieldErrors([FieldError(field, "must be an object")])
    errors = [FieldError(f"{field}.{shown(key)[1:-1]}", "is not a known field") for key in mapping if key not in _KNOWN]
    values: dict[str, Any] = {}
    for key in _KNOWN:
        if mapping.get(key) is not None:
            try:
                values.update(_member(key, mapping[key], f"{field}.{key}"))
            except FieldError as error:
                errors.append(error)
    if not errors and values.get("initial_ms", 0) > values.get("maximum_ms", RETRY_DELAY_MAX_MS):
        errors.append(FieldError(f"{field}.maximum", "must not be shorter than initial"))
    if errors:
        raise FieldErrors(errors)
    policy = RetryPolicy(**values)
    if policy.initial_ms > policy.maximum_ms:  # a long initial beside the default maximum
        return RetryPolicy(**{**values, "maximum_ms": policy.initial_ms})
    return policy


def _member(key: str, value: object, field: str) -> dict[str, Any]:
    if key == "max_attempts":
        return {key: _attempts(value, field)}
    if key == "backoff":
        if value not in tuple(Backoff):
            raise FieldError(field, 'must be "exponential" or "fixed"')
        return {key: Backoff(str(value))}
    least, most = (1_000, RETRY_MAX_AGE_MS) if key == "max_age" else (100, RETRY_DELAY_MAX_MS)
    return {f"{key}_ms": duration_ms(parse_duration(value, field=field, minimum_ms=least, maximum_ms=most))}


def _attempts(value: object, field: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_ATTEMPTS_LIMIT:
        raise FieldError(field, f"must be a whole number from 1 to {MAX_ATTEMPTS_LIMIT}")
    return value


def retry_policy_to_mapping(policy: RetryPolicy) -> dict[str, Any]:
    """The API's shape again."""
    return {
        "max_attempts": policy.max_attempts,
        "backoff": policy.backoff.value,
        "initial": format_duration(timedelta(milliseconds=policy.initial_ms)),
        "maximum": format_duration(timedelta(milliseconds=policy.maximum_ms)),
        "max_age": format_duration(timedelta(milliseconds=policy.max_age_ms)),
    }


def retry_policy_from_mapping(mapping: object) -> RetryPolicy:
    """From what `retry_policy_to_mapping` wrote and the database kept."""
    return parse_retry_policy(mapping)
