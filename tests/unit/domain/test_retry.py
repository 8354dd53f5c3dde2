import pytest
from hourbell.domain.errors import FieldErrors
from hourbell.domain.retry import (
    Backoff,
    RetryPolicy,
    next_delay_ms,
    parse_retry_policy,
    retry_policy_from_mapping,
    retry_policy_to_mapping,
)


def test_the_delay_doubles_up_to_the_maximum() -> None:
    policy = RetryPolicy(initial_ms=1_000, maximum_ms=5_000)
    assert [next_delay_ms(policy, attempt, 0.9999999) for attempt in (1, 2, 3, 4, 100)] == [
        999,
        1_999,
        3_999,
        4_999,
        4_999,
    ]


def test_the_jitter_is_full() -> None:
    assert next_delay_ms(RetryPolicy(initial_ms=1_000), 1, 0.0) == 0
    assert next_delay_ms(RetryPolicy(initial_ms=1_000), 1, 0.5) == 500


def test_a_fixed_delay_is_fixed() -> None:
    policy = RetryPolicy(backoff=Backoff.FIXED, initial_ms=1_000)
    assert next_delay_ms(policy, 7, 0.3) == 1_000


def test_the_api_shape_is_read_and_written() -> None:
    shape = {"max_attempts": 5, "backoff": "exponential", "initial": "PT10S", "maximum": "PT1H", "max_age": "P1D"}
    assert parse_retry_policy(shape) == RetryPolicy()
    assert retry_policy_to_mapping(RetryPolicy()) == shape
    assert retry_policy_from_mapping(shape) == RetryPolicy()


def test_what_is_absent_takes_its_default() -> None:
    assert parse_retry_policy({"max_attempts": 2, "initial": None}) == RetryPolicy(max_attempts=2)
    assert parse_retry_policy(None) == RetryPolicy()


def test_a_long_initial_lifts_the_default_maximum() -> None:
    assert parse_retry_policy({"initial": "2h"}).maximum_ms == 7_200_000


@pytest.mark.parametrize(
    ("mapping", "field"),
    [
        ({"max_attempts": 2**63}, "retry.max_attempts"),
        ({"max_attempts": 0}, "retry.max_attempts"),
        ({"max_attempts": True}, "retry.max_attempts"),
        ({"max_attempts": 1.5}, "retry.max_attempts"),
        ({"backoff": "linear"}, "retry.backoff"),
        ({"backoff": ["exponential"]}, "retry.backoff"),
        ({"initial": "0s"}, "retry.initial"),
        ({"maximum": 5}, "retry.maximum"),
        ({"max_age": "P31D"}, "retry.max_age"),
        ({"initial": "10s", "maximum": "5s"}, "retry.maximum"),
        ({"attempts": 3}, "retry.attempts"),
        ([], "retry"),
        ("5", "retry"),
    ],
    ids=ascii,
)
def test_refused_naming_the_field(mapping: object, field: str) -> None:
    with pytest.raises(FieldErrors) as caught:
        parse_retry_policy(mapping)
    assert [error.field for error in caught.value.errors] == [field]


def test_every_bad_field_is_named() -> None:
    with pytest.raises(FieldErrors) as caught:
        parse_retry_policy({"max_attempts": 0, "initial": "x"})
    assert [error.field for error in caught.value.errors] == ["retry.max_attempts", "retry.initial"]
