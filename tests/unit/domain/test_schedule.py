"""Bounds, intervals, one-off times, and looking back; the clock rules have files of their own."""

import json
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hourbell.domain.errors import FieldErrors
from hourbell.domain.instants import MAX_INSTANT
from hourbell.domain.schedule import (
    Cron,
    count_between,
    includes,
    last_before,
    next_after,
    parse_schedule,
    schedule_from_json,
    to_mapping,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.domain.clocks import JOB, NOW, at, cron, every, following, inside, later, refused, utc, zulu

# --- every ---


def test_an_interval_counts_from_its_anchor_and_never_drifts() -> None:
    schedule = every("PT15M", "2026-01-01T00:07:00Z")
    assert following(schedule, "2026-01-01T00:00:00Z", 2) == ["2026-01-01T00:07:00Z", "2026-01-01T00:22:00Z"]
    assert following(schedule, "2026-01-11T10:00:00Z", 1) == ["2026-01-11T10:07:00Z"]


def test_an_interval_keeps_its_milliseconds() -> None:
    schedule = every("PT1.5S", "2026-01-01T00:00:00.250Z")
    assert following(schedule, "2026-01-01T00:00:00.250Z", 2) == [
        "2026-01-01T00:00:01.750Z",
        "2026-01-01T00:00:03.250Z",
    ]


def test_an_interval_is_elapsed_time_across_a_clock_change() -> None:
    schedule = every("P1D", "2026-03-07T17:00:00Z", timezone="America/New_York")
    assert following(schedule, "2026-03-07T17:00:00Z", 2) == ["2026-03-08T17:00:00Z", "2026-03-09T17:00:00Z"]


def test_an_interval_without_an_anchor_starts_now() -> None:
    now = utc("2026-01-01T10:00:00.123Z")
    schedule = parse_schedule({"every": "1h"}, now=later(now, microseconds=456))
    assert following(schedule, now, 1) == ["2026-01-01T11:00:00.123Z"]
    assert to_mapping(schedule)["anchor"] == "2026-01-01T10:00:00.123Z"


@pytest.mark.parametrize("duration", ["PT0.999S", "0s", "367d", "P1Y", "-5s"])
def test_an_interval_is_a_second_to_366_days(duration: str) -> None:
    assert refused({"every": duration})[0] == "schedule.every"


def test_an_interval_skips_excluded_dates_of_its_zone() -> None:
    schedule = every("PT6H", "2026-01-01T00:00:00Z", timezone="Asia/Tokyo", exclude=["2026-01-02"])
    expected = ["2026-01-01T06:00:00Z", "2026-01-01T12:00:00Z", "2026-01-02T18:00:00Z"]
    assert following(schedule, "2026-01-01T00:00Z", 3) == expected
    assert count_between(schedule, None, utc("2026-01-01T00:00Z"), utc("2026-01-02T18:00Z"), cap=99) == 3
    assert count_between(schedule, None, utc("2026-01-01T00:00Z"), utc("2026-01-01T18:00Z"), cap=99) == 2
    before = last_before(schedule, None, utc("2026-01-02T17:59Z"))
    assert before is not None
    assert zulu(before.scheduled_for) == "2026-01-01T12:00:00Z"


# --- at ---


def test_a_one_off_has_one_occurrence() -> None:
    schedule = at("2027-05-29T09:00:00.5", timezone="Europe/Paris")
    assert following(schedule, "2026-01-01T00:00Z", 5) == ["2027-05-29T07:00:00.500Z"]


def test_an_offset_wins_over_the_zone() -> None:
    schedule = at("2027-05-29T09:00:00-03:00", timezone="Europe/Paris")
    assert following(schedule, "2026-01-01T00:00Z", 5) == ["2027-05-29T12:00:00Z"]


def test_a_repeated_one_off_fires_in_both_passes_when_asked() -> None:
    schedule = at("2026-11-01T01:30:00", timezone="America/New_York", repeat="twice")
    assert following(schedule, "2026-01-01T00:00Z", 5) == ["2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"]
    before = last_before(schedule, None, utc("2026-11-01T06:00Z"))
    assert before is not None
    assert zulu(before.scheduled_for) == "2026-11-01T05:30:00Z"
    assert count_between(schedule, None, utc("2026-11-01T05:30Z"), utc("2027-01-01T00:00Z"), cap=9) == 1


def test_a_one_off_on_a_skipped_day_is_refused() -> None:
    now = utc("2011-01-01T00:00Z")
    field, detail = refused({"at": "2011-12-30T12:00:00", "timezone": "Pacific/Apia"}, now)
    assert (field, "does not exist" in detail) == ("schedule.at", True)


def test_a_one_off_in_the_past_is_refused() -> None:
    assert refused({"at": "2025-12-31T23:59:59Z"}) == (
        "schedule.at",
        'lies in the past; "past": "run_now" runs it at once',
    )


def test_a_one_off_in_the_past_runs_now_when_asked() -> None:
    now = later(NOW, microseconds=700)
    schedule = parse_schedule({"at": "2001-01-01T00:00:00", "timezone": "Asia/Tokyo", "past": "run_now"}, now=now)
    assert following(schedule, now, 2) == ["2026-01-01T00:00:00.001Z"]
    assert schedule_from_json(json.dumps(to_mapping(schedule))) == schedule


# --- bounds ---


def test_start_and_end_are_part_of_the_span() -> None:
    schedule = cron("0 * * * *", start_at="2026-01-01T05:00:00Z", end_at="2026-01-01T07:00:00Z")
    expected = ["2026-01-01T05:00:00Z", "2026-01-01T06:00:00Z", "2026-01-01T07:00:00Z"]
    assert following(schedule, "2025-06-01T00:00Z", 9) == expected
    assert count_between(schedule, None, utc("2025-01-01T00:00Z"), utc("2027-01-01T00:00Z"), cap=99) == 3
    assert last_before(schedule, None, utc("2026-01-01T04:59Z")) is None
    last = last_before(schedule, None, utc("2026-06-01T00:00Z"))
    assert last is not None
    assert zulu(last.scheduled_for) == expected[-1]


def test_a_bound_may_be_a_local_time_of_the_zone() -> None:
    schedule = cron("0 * * * *", "Asia/Kolkata", start_at="2026-01-01T12:00:00")
    assert following(schedule, "2025-06-01T00:00Z", 1) == ["2026-01-01T06:30:00Z"]


def test_one_run_may_be_all() -> None:
    assert parse_schedule({"cron": "@daily", "max_runs": 1}, now=NOW).max_runs == 1


def test_excluded_dates_are_dates_of_the_zone() -> None:
    schedule = cron("0 1,23 * * *", "Asia/Tokyo", exclude=["2026-12-25"])
    expected = ["2026-12-24T14:00:00Z", "2026-12-25T16:00:00Z"]
    assert inside(schedule, "2026-12-24T00:00Z", "2026-12-25T23:00Z")[-2:] == expected
    before = last_before(schedule, None, utc("2026-12-25T15:00Z"))
    assert before is not None
    assert zulu(before.scheduled_for) == expected[0]


def test_an_excluded_day_with_a_clock_change_has_no_runs_at_all() -> None:
    schedule = cron("*/30 * * * *", "America/New_York", exclude=["2026-11-01"])
    found = inside(schedule, "2026-11-01T03:00Z", "2026-11-02T06:00Z")
    assert found == ["2026-11-01T03:30:00Z", "2026-11-02T05:00:00Z", "2026-11-02T05:30:00Z", "2026-11-02T06:00:00Z"]
    assert count_between(schedule, None, utc("2026-11-01T03:00Z"), utc("2026-11-02T06:00Z"), cap=99) == 4


def test_an_excluded_day_swallows_the_run_that_the_gap_moved() -> None:
    schedule = cron("30 2 * * *", "America/New_York", exclude=["2026-03-08"])
    assert inside(schedule, "2026-03-07T08:00Z", "2026-03-09T08:00Z") == ["2026-03-09T06:30:00Z"]
    before = last_before(schedule, None, utc("2026-03-09T00:00Z"))
    assert before is not None
    assert zulu(before.scheduled_for) == "2026-03-07T07:30:00Z"


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"start_at": "2026-05-01T00:00:00Z", "end_at": "2026-04-01T00:00:00Z"}, "end_at"),
        ({"end_at": "2025-04-01T00:00:00Z"}, "end_at"),
        ({"end_at": "2026-01-01T00:30:00Z"}, "end_at"),
        ({"start_at": "soon"}, "start_at"),
        ({"start_at": "2026-05-01T00:00:00", "timezone": None}, "start_at"),
        ({"max_runs": 0}, "max_runs"),
        ({"max_runs": True}, "max_runs"),
        ({"max_runs": 2**63}, "max_runs"),
        ({"exclude": "2026-12-25"}, "exclude"),
        ({"exclude": ["2026-12-25"] * 367}, "exclude"),
        ({"exclude": ["2026-02-30"]}, "exclude[0]"),
        ({"exclude": ["2026-12-25", 5]}, "exclude[1]"),
        ({"gap": "jump"}, "gap"),
        ({"gap": []}, "gap"),
        ({"repeat": "thrice"}, "repeat"),
        ({"past": "run_now"}, "past"),
        ({"anchor": "2026-01-01T00:00:00Z"}, "anchor"),
        ({"chron": "* * * * *"}, "chron"),
        ({"timezone": 5}, "timezone"),
    ],
    ids=ascii,
)
def test_refused_naming_the_field(more: dict[str, Any], field: str) -> None:
    assert refused({"cron": "0 12 * * *", "timezone": "Europe/Paris", **more})[0] == f"schedule.{field}"


@pytest.mark.parametrize("mapping", [None, [], "0 0 * * *", {}, {"cron": None}, {"cron": "@daily", "every": "5s"}])
def test_exactly_one_kind_of_schedule(mapping: object) -> None:
    with pytest.raises(FieldErrors) as caught:
        parse_schedule(mapping, now=NOW)
    assert [error.field for error in caught.value.errors] == ["schedule"]


def test_every_bad_field_is_named_at_once() -> None:
    with pytest.raises(FieldErrors) as caught:
        parse_schedule({"cron": "x", "timezone": "Mars/Olympus", "gap": 1, "odd\0": 2}, now=NOW)
    fields = [error.field for error in caught.value.errors]
    assert fields == ["schedule.odd\\x00", "schedule.cron", "schedule.timezone", "schedule.gap"]


def test_bounds_do_not_go_with_a_one_off() -> None:
    assert refused({"at": "2027-01-01T00:00:00Z", "max_runs": 3})[0] == "schedule.max_runs"
    parse_schedule({"at": "2027-01-01T00:00:00Z", "max_runs": None, "exclude": []}, now=NOW)


# --- zones ---


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "Mars/Olympus",
            "europe/paris",
            "../../../etc/passwd",
            "/etc/localtime",
            "Europe/Paris\0",
            "Europe//Paris",
        ),
        *("UTC+2", "+05:30", "Etc/GMT+5", "GMT-3", "EST", "HST", "Factory", "localtime", "zone.tab", "A" * 10_000),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_no_such_zone(name: str) -> None:
    assert refused({"cron": "@daily", "timezone": name})[0] == "schedule.timezone"


@pytest.mark.parametrize(
    "name", ["UTC", "Etc/UTC", "GMT", "Zulu", "Asia/Calcutta", "US/Pacific", "America/Port-au-Prince"]
)
def test_aliases_are_kept_as_given(name: str) -> None:
    schedule = parse_schedule({"cron": "@daily", "timezone": name}, now=NOW)
    assert to_mapping(schedule)["timezone"] == name


def test_a_misspelt_zone_gets_advice() -> None:
    assert refused({"cron": "@daily", "timezone": "europe/PARIS"})[1].endswith("; Europe/Paris is")


# --- reading back ---


@pytest.mark.parametrize(
    "mapping",
    [
        {"cron": " 0  2 * *\t* ", "timezone": "Asia/Kolkata", "gap": "skip", "repeat": "twice", "max_runs": 3},
        {"cron": "H H * * *", "start_at": "2026-01-01T00:00:00Z", "exclude": ["2026-12-25", "2026-01-06"]},
        {"every": "90s", "anchor": "2026-01-01T00:00:00Z", "end_at": "2030-01-01T00:00:00Z"},
        {"at": "2026-11-01T01:30:00", "timezone": "America/New_York", "repeat": "twice"},
        {"at": "2027-01-01T00:00:00+05:30"},
    ],
    ids=ascii,
)
def test_what_is_written_is_read_back(mapping: dict[str, Any]) -> None:
    schedule = parse_schedule(mapping, now=NOW)
    assert schedule_from_json(json.dumps(to_mapping(schedule))) == schedule


def test_spacing_makes_no_other_schedule() -> None:
    assert cron("0 2 * * *") == Cron(cron="0\t2  * * *")
    assert cron("0 2 * * *") != cron("0 2 * * *", "Europe/Paris")


def test_a_stored_time_may_lie_in_the_past() -> None:
    assert following(at("2001-01-01T00:00:00Z"), "2000-01-01T00:00Z", 1) == ["2001-01-01T00:00:00Z"]


@pytest.mark.parametrize("text", ["", "{", "5", '{"cron": "@daily", "timezone": "Gone/Away"}'])
def test_a_stored_schedule_that_is_no_longer_accepted_says_so(text: str) -> None:
    with pytest.raises(FieldErrors):
        schedule_from_json(text)


# --- bounded work ---


@pytest.mark.parametrize("expression", ["* * * * * *", "0 0 29 2 *", "*/7 * * * *", "0 3 * * *", "0 0 1 1 *"])
def test_two_years_behind_cost_no_walk(expression: str) -> None:
    schedule = cron(expression, "America/New_York")
    last_before(schedule, None, NOW)  # the zone is known from now on
    started = time.process_time()
    count = count_between(schedule, None, later(NOW, days=-730), NOW, cap=10**9)
    last_before(schedule, None, NOW)
    next_after(schedule, None, later(NOW, days=-730))
    assert time.process_time() - started < 0.05
    assert expression != "* * * * * *" or count == 730 * 86_400


def test_an_interval_two_years_behind_is_counted() -> None:
    schedule = every("1s", "2024-01-01T00:00:00Z")
    assert count_between(schedule, None, utc("2024-01-01T00:00Z"), utc("2026-01-01T00:00Z"), cap=10**9) == 731 * 86_400


@pytest.mark.parametrize("expression", ["0 10 15 1 *", "0 10 15 7 *", "30 1 1 11 *", "30 2 8 3 *"])
def test_a_yearly_run_is_found_again_from_the_other_half_of_the_year(expression: str) -> None:
    schedule = cron(expression, "America/New_York")
    runs = [utc(text) for text in following(schedule, "2020-01-01T00:00Z", 10)]
    for run in runs:
        for months in (1, 5, 11):
            found = last_before(schedule, None, later(run, days=30 * months))
            assert found is not None
            assert found.scheduled_for == run


def test_the_count_is_capped() -> None:
    assert count_between(cron("* * * * *"), None, NOW, later(NOW, days=9), cap=500) == 500


def test_nothing_lies_between_an_instant_and_itself() -> None:
    assert count_between(cron("* * * * *"), None, NOW, NOW, cap=9) == 0
    assert count_between(cron("* * * * *"), None, later(NOW, days=1), NOW, cap=9) == 0


def test_the_end_of_the_calendar_is_an_end() -> None:
    schedule = cron("0 0 * * *", "Asia/Tokyo")
    assert next_after(schedule, None, MAX_INSTANT) is None
    assert count_between(cron("* * * * * *"), None, later(MAX_INSTANT, seconds=-2), MAX_INSTANT, cap=9) == 2
    assert next_after(schedule, None, datetime.max.replace(tzinfo=UTC)) is None
    last = last_before(schedule, None, datetime.max.replace(tzinfo=UTC))
    assert last is not None
    assert zulu(last.scheduled_for) == "2199-12-31T15:00:00Z"
    assert last_before(schedule, None, datetime.min.replace(tzinfo=UTC)) is None
    assert following(schedule, datetime.min.replace(tzinfo=UTC), 1) == ["1970-01-01T15:00:00Z"]


def test_inclusive_asks_for_the_instant_itself() -> None:
    schedule = cron("0 9 * * *")
    nine = utc("2026-01-01T09:00Z")
    assert next_after(schedule, None, nine, inclusive=True).scheduled_for == nine
    assert next_after(schedule, None, later(nine, microseconds=1), inclusive=True).scheduled_for == later(nine, days=1)


def test_includes_knows_its_own_times_only() -> None:
    schedule = cron("H 9 * * *")
    mine = utc(following(schedule, NOW, 1, JOB)[0])
    assert includes(schedule, JOB, mine)
    assert not includes(schedule, JOB, later(mine, seconds=1))
    assert not includes(schedule, JOB, later(mine, milliseconds=1))


EXPRESSIONS = ["*/7 * * * *", "30 1,2 * * *", "0 0 * * 0", "15 3 L * *", "0 12 29 2 *", "59 23 * * 5#2", "5 */3 1 * 1"]
ZONES = ["UTC", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Pacific/Apia", "Antarctica/Troll"]


RULES = st.fixed_dictionaries({"gap": st.sampled_from(["run", "skip"]), "repeat": st.sampled_from(["once", "twice"])})
STARTS = st.datetimes(datetime(1972, 1, 1), datetime(2060, 1, 1))  # noqa: DTZ001 - hypothesis wants them naive


@settings(max_examples=100, deadline=2_000)
@given(st.sampled_from(EXPRESSIONS), st.sampled_from(ZONES), RULES, STARTS, st.lists(st.integers(0, 40), max_size=4))
def test_forwards_backwards_and_counting_agree(
    expression: str, name: str, rules: dict[str, str], naive: datetime, excluded: list[int]
) -> None:
    start = naive.replace(tzinfo=UTC)
    dates = [(start + timedelta(days=days)).date().isoformat() for days in excluded]
    schedule = cron(expression, name, exclude=dates, **rules)
    instant = start
    for count in range(1, 30):
        found = next_after(schedule, None, instant)
        if found is None:
            break
        previous = last_before(schedule, None, later(found.scheduled_for, milliseconds=-1))
        assert count == 1 or (previous is not None and previous.scheduled_for == instant)
        assert last_before(schedule, None, found.scheduled_for) == found
        assert count_between(schedule, None, start, found.scheduled_for, cap=10**9) == count
        instant = found.scheduled_for


# --- speed ---


def test_importing_costs_no_vendor() -> None:
    code = "import sys, hourbell.domain.schedule, hourbell.domain.preview; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"croniter", "dateutil", "importlib.resources", "pydantic", "boto3"} & set(loaded)


def test_planning_is_fast_without_any_luck() -> None:
    """20 µs on average is what a claim can afford; the margin is for a busy machine."""
    schedules = [cron(f"{n % 60} {n % 24} * * *", ZONES[n % 4]) for n in range(1_000)]
    instants = [later(NOW, minutes=n) for n in range(0, 50_000, 5)]
    next_after(schedules[0], None, NOW)
    started = time.process_time()
    for number, instant in enumerate(instants):
        next_after(schedules[number % 1_000], None, instant)
    assert (time.process_time() - started) / len(instants) < 50e-6
