"""Moments that a quota of runs gives away, minute by minute."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from hourbell.domain.quotas import Minutes, minute_of

from tests.seeds import T0, minutes


def test_a_run_whose_minute_has_room_starts_at_its_own_time():
    quota = Minutes(2, {})
    wanted = T0 + timedelta(seconds=30)

    assert [quota.reserve(wanted, now=T0) for _ in range(2)] == [wanted, wanted]
    assert quota.taken == {T0: 2}


def test_what_finds_its_minute_full_is_spread_over_the_next_that_has_room():
    quota = Minutes(4, {T0: 3, T0 + minutes(1): 4, T0 + minutes(2): 2})

    moments = [quota.reserve(T0 + timedelta(seconds=1), now=T0) for _ in range(4)]

    assert moments == [
        T0 + timedelta(seconds=1),
        T0 + minutes(2) + timedelta(seconds=30),
        T0 + minutes(2) + timedelta(seconds=45),
        T0 + minutes(3),
    ]


def test_no_minute_gets_more_than_the_quota_however_many_want_it():
    quota = Minutes(7, {})

    moments = [quota.reserve(T0 + timedelta(seconds=n // 4), now=T0) for n in range(1_000)]

    per_minute = Counter(minute_of(moment) for moment in moments)
    assert max(per_minute.values()) == 7
    assert set(per_minute) == {T0 + minutes(n) for n in range(143)}
    assert moments == sorted(moments)


def test_a_later_minute_with_room_is_not_held_up_by_a_full_one():
    quota = Minutes(1, {T0: 1})

    assert quota.reserve(T0 + minutes(10), now=T0) == T0 + minutes(10)


def test_an_overdue_run_counts_in_the_minute_of_now():
    quota = Minutes(1, {})

    assert quota.reserve(T0 - minutes(5), now=T0) == T0 - minutes(5)
    assert quota.taken == {T0: 1}
    assert quota.reserve(T0 - minutes(5), now=T0) == T0 + minutes(1)
