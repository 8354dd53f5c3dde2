from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hourbell.domain.pacing import Pace, reserve
from hypothesis import given
from hypothesis import strategies as st

from tests.seeds import T0


def releases(pace: Pace, wanted: list[datetime]) -> list[datetime]:
    tat, found = None, []
    for instant in wanted:
        release, tat = reserve(pace, tat, instant)
        found.append(release)
    return found


def test_calls_at_once_are_spread_at_the_pace():
    found = releases(Pace(rate_per_second=20, burst=1), [T0] * 5)
    assert found == [T0 + timedelta(milliseconds=50 * n) for n in range(5)]


def test_a_burst_goes_out_at_once_and_the_rest_at_the_pace():
    found = releases(Pace(rate_per_second=10, burst=3), [T0] * 5)
    assert found == [T0, T0, T0, T0 + timedelta(milliseconds=100), T0 + timedelta(milliseconds=200)]


def test_calls_slower_than_the_pace_are_not_moved():
    wanted = [T0 + timedelta(seconds=n) for n in range(5)]
    assert releases(Pace(rate_per_second=2, burst=1), wanted) == wanted


def test_a_quiet_time_earns_no_more_than_the_burst():
    found = releases(Pace(rate_per_second=10, burst=2), [T0] + [T0 + timedelta(hours=1)] * 3)
    assert found[1:] == [T0 + timedelta(hours=1)] * 2 + [T0 + timedelta(hours=1, milliseconds=100)]


def test_ten_thousand_at_once_keep_the_pace_to_five_percent_in_every_second():
    found = releases(Pace(rate_per_second=100, burst=1), [T0] * 10_000)
    per_second = [0] * 100
    for release in found:
        per_second[int((release - T0).total_seconds())] += 1
    assert min(per_second) >= 95
    assert max(per_second) <= 105


@given(
    st.floats(0.1, 1000),
    st.integers(1, 50),
    st.lists(st.integers(0, 20_000), min_size=1, max_size=200).map(sorted),
)
def test_no_second_ever_sees_more_than_rate_plus_burst(rate: float, burst: int, offsets: list[int]):
    found = releases(Pace(rate_per_second=rate, burst=burst), [T0 + timedelta(milliseconds=ms) for ms in offsets])
    for start in found:
        window = [release for release in found if start <= release < start + timedelta(seconds=1)]
        assert len(window) <= rate + burst + 1


@pytest.mark.parametrize("wanted", [T0, T0 + timedelta(days=1)])
def test_nothing_is_released_before_it_is_wanted(wanted: datetime):
    assert reserve(Pace(rate_per_second=1, burst=100), T0 + timedelta(seconds=30), wanted)[0] >= wanted
