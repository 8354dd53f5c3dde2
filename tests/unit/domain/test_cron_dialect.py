"""What an expression means, and what is refused with which advice. Times here are UTC: no clock changes."""

import time
from uuid import UUID

import pytest
from croniter import croniter
from hourbell.domain.cron import confirm, parse_cron
from hourbell.domain.errors import FieldError
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.unit.domain.clocks import JOB, NOW, OTHER_JOB, cron, following, refused, seeded

# 1 January 2026 is a Thursday.
START = "2025-12-31T23:59:59Z"


def first(expression: str, count: int) -> list[str]:
    """The next occurrences from the first instant of 2026 on, without the zeros at the end."""
    return [text.removesuffix("Z").removesuffix(":00") for text in following(cron(expression), START, count)]


def days(expression: str, count: int) -> list[str]:
    return [text[5:10] for text in first(expression, count)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("*/40 0 * * *", ["2026-01-01T00:00", "2026-01-01T00:40"]),
        ("5/20 0 * * *", ["2026-01-01T00:05", "2026-01-01T00:25", "2026-01-01T00:45"]),
        ("*/90 * * * *", ["2026-01-01T00:00", "2026-01-01T01:00"]),
        ("3,1,2,1 5 * * *", ["2026-01-01T05:01", "2026-01-01T05:02", "2026-01-01T05:03"]),
        ("0 23-1 * * *", ["2026-01-01T00:00", "2026-01-01T01:00", "2026-01-01T23:00"]),
        ("30 */5 0 * * *", ["2026-01-01T00:00:30", "2026-01-01T00:05:30"]),
        ("*/30 * * * * *", ["2026-01-01T00:00", "2026-01-01T00:00:30", "2026-01-01T00:01"]),
        ("  0\t12 * *  * ", ["2026-01-01T12:00"]),
        ("@hourly", ["2026-01-01T00:00", "2026-01-01T01:00"]),
        ("@Daily", ["2026-01-01T00:00", "2026-01-02T00:00"]),
        ("@midnight", ["2026-01-01T00:00", "2026-01-02T00:00"]),
        ("@weekly", ["2026-01-04T00:00", "2026-01-11T00:00"]),
        ("@monthly", ["2026-01-01T00:00", "2026-02-01T00:00"]),
        ("@yearly", ["2026-01-01T00:00", "2027-01-01T00:00"]),
        ("@annually", ["2026-01-01T00:00", "2027-01-01T00:00"]),
    ],
)
def test_times(expression: str, expected: list[str]) -> None:
    assert first(expression, len(expected)) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 0 L * *", ["01-31", "02-28", "03-31"]),
        ("0 0 L-3 2 *", ["02-25"]),
        ("0 0 LW 1,5 *", ["01-30", "05-29"]),
        ("0 0 L-2W 1 *", ["01-29"]),
        ("0 0 15W * *", ["01-15", "02-16", "03-16"]),  # 15 February and 15 March are Sundays
        ("0 0 14W 2 *", ["02-13"]),  # a Saturday
        ("0 0 1W 2,8 *", ["02-02", "08-03"]),  # Sunday, and Saturday: never into the month before
        ("0 0 31W 5 *", ["05-29"]),  # Sunday the last: never into the month after
        ("0 0 1,15W,L 1 *", ["01-01", "01-15", "01-31"]),
        ("0 0 * * 5L", ["01-30", "02-27"]),
        ("0 0 * * fril", ["01-30", "02-27"]),
        ("0 0 * * 7L", ["01-25", "02-22"]),
        ("0 0 * * 5#1", ["01-02", "02-06"]),
        ("0 0 * * thu#5", ["01-01", "01-29"][1:]),
        ("0 0 * * 1#1,5L", ["01-05", "01-30"]),
        ("0 0 ? * ?", ["01-01", "01-02"]),
        ("0 0 1 * ?", ["01-01", "02-01"]),
        ("0 0 * * 0", ["01-04", "01-11"]),
        ("0 0 * * 7", ["01-04", "01-11"]),
        ("0 0 * * Sun", ["01-04", "01-11"]),
        ("0 0 * * sat-sun", ["01-03", "01-04", "01-10"]),
        ("0 0 * * mon-sun", ["01-01", "01-02", "01-03", "01-04"]),
        ("0 0 * * 7-1", ["01-04", "01-05", "01-11"]),
        ("0 0 * * 0-7", ["01-01", "01-02", "01-03", "01-04"]),
        ("0 0 * * */2", ["01-01", "01-03", "01-04", "01-06"]),
        ("0 0 1 Jan,jul *", ["01-01", "07-01"]),
        ("0 0 1 nov-feb *", ["01-01", "02-01", "11-01", "12-01"]),
        ("0 0 28-2 1 *", ["01-01", "01-02", "01-28", "01-29"]),
    ],
)
def test_days(expression: str, expected: list[str]) -> None:
    assert days(expression, len(expected)) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 0 13 * 5", ["01-02", "01-09", "01-13", "01-16"]),
        ("0 0 */10 * 5", ["05-01", "07-31", "08-21"]),
        ("0 0 1-10 1 */5", ["01-02", "01-04", "01-09"]),
        ("0 0 *,13 * 5", ["01-02", "01-09", "01-16"]),
        ("0 0 L * 1", ["01-05", "01-12", "01-19", "01-26", "01-31"]),
    ],
)
def test_either_day_field_unless_one_starts_with_a_star(expression: str, expected: list[str]) -> None:
    assert days(expression, len(expected)) == expected


def test_a_leap_day_on_a_monday_is_found_across_2100() -> None:
    assert following(cron("0 0 29 2 */7"), "2076-03-01T00:00Z", 2) == ["2088-02-29T00:00:00Z", "2128-02-29T00:00:00Z"]


def test_a_leap_day_comes_after_eight_years_around_2100() -> None:
    assert following(cron("0 0 29 2 *"), "2096-03-01T00:00Z", 1) == ["2104-02-29T00:00:00Z"]


# --- H ---


def test_h_is_the_same_for_one_job_and_another_for_the_next() -> None:
    schedule = cron("H H * * *")
    mine = following(schedule, START, 2, JOB)
    assert mine == following(cron("H H * * *"), START, 2, JOB)
    assert mine[0][11:] == mine[1][11:]
    assert mine != following(schedule, START, 2, OTHER_JOB)


def test_h_keeps_to_its_range_and_step() -> None:
    found = [int(text[14:16]) for text in following(cron("H(10-39)/10 0 * * *"), START, 3, JOB)]
    assert 10 <= found[0] < 20
    assert found == [found[0], found[0] + 10, found[0] + 20]


def test_h_may_take_the_whole_field() -> None:
    assert following(cron("H(0-59) * * * *"), START, 3, JOB) == following(cron("H * * * *"), START, 3, JOB)


def test_h_spreads_jobs_over_the_field() -> None:
    rng = seeded("jobs")
    minutes = {following(cron("H 0 * * *"), START, 1, UUID(int=rng.getrandbits(128)))[0][14:16] for _ in range(600)}
    assert len(minutes) == 60


def test_h_of_the_day_lies_in_every_month() -> None:
    months = [text[5:7] for text in following(cron("0 0 H * *"), START, 12, JOB)]
    assert months == [f"{month:02d}" for month in range(1, 13)]


def test_h_without_a_job_is_refused() -> None:
    with pytest.raises(FieldError, match=r"schedule\.cron: H is worked out from the id of a job"):
        following(cron("H 0 * * *"), START, 1)


def test_h_of_the_month_must_always_find_its_day() -> None:
    assert refused({"cron": "0 0 31 H *"}) == ("schedule.cron", "31 February never comes")


# --- Refusals ---


@pytest.mark.parametrize(
    ("expression", "advice"),
    [
        ("", "0 fields: 5 are needed"),
        ("* * * *", "4 fields: 5 are needed"),
        ("0 0 0 1 1 ? 2027", "7 fields: there is no field for the year"),
        ("61 * * * *", "minute 61 is outside 0-59"),
        ("0 24 * * *", "hour 24 is outside 0-23"),
        ("0 0 0 * *", "day of month 0 is outside 1-31"),
        ("0 0 * 13 *", "month 13 is outside 1-12 or JAN-DEC"),
        ("0 0 * * 8", "day of week 8 is outside 0-7 or SUN-SAT"),
        ("60 * * * * *", "second 60 is outside 0-59 (6 fields: seconds come first here)"),
        ("0 0 12 1 1 2027", "seconds come first here"),
        ("*/0 * * * *", "step of 0 in the minute"),
        ("0 0 31 2 *", "31 February never comes"),
        ("0 0 30,31 2 *", "30 or 31 February never comes"),
        ("0 0 31 4,6 *", "31 April or June never comes"),
        ("0 0 30W 2 *", "no date ever fits"),
        ("0 0 */30 2 1#2", "no date ever fits"),
        ("R * * * *", "H is spread over the jobs"),
        ("0 0 * * L5", "the last one of the month is written 5L"),
        ("0 0 * * L", "write 6 for every Saturday, 6L for the last one"),
        ("0 0 * * 5#6", "a month has a first to a fifth Friday"),
        ("0 0 * * 7/2", "write 0/n to count from Sunday"),
        ("0 0 W * *", "W follows a day"),
        ("L * * * *", "L and W belong to the day of month"),
        ("0 0 * * 15W", "L and W belong to the day of month"),
        ("0 0 5#2 * *", "5#2 to the day of week"),
        ("? * * * *", "? stands alone, and only in a day field"),
        ("0 0 ?,1 * *", "? stands alone, and only in a day field"),
        ("0 0 * mon *", "MON is a day of week; allowed: 1-12 or JAN-DEC"),
        ("0 0 * * monday", "names have three letters, MON"),
        ("0 0 * * MON_FRI", "a range is written with a hyphen, MON-FRI"),
        ("/5 * * * *", "a step needs a start, as in */5"),
        ("5,,7 * * * *", "empty item in the list of the minute"),
        ("H(0-60) * * * *", "H in the minute stays within 0-59"),
        ("0 0 H(29-31) * *", "H in the day of month stays within 1-28"),
        ("0 0 L-31 * *", "L-31 lies before the month"),
        ("@reboot", "'@reboot' is not known; there are @yearly"),
        ("@every 5m", 'an interval is written as {"every": "5m"}'),
        ("TZ=Asia/Tokyo 0 9 * * *", "the time zone goes into the field timezone"),
        ("0 0 * * \u017fun", "only plain ASCII, space and tab are allowed, not '\\u017f'"),
        ("0 0 * * *\n", "not '\\n'"),
        ("*" * 5_000, "longer than 1000 characters"),
        ("1,2-99999999999999999999 * * * *", "is not accepted; allowed: 0-59"),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_refused_with_advice(expression: str, advice: str) -> None:
    started = time.process_time()
    field, detail = refused({"cron": expression})
    assert time.process_time() - started < 0.05
    assert field == "schedule.cron"
    assert advice in detail


@pytest.mark.parametrize("value", [5, True, None, ["* * * * *"], {"cron": "* * * * *"}, 1e300])
def test_only_text_is_an_expression(value: object) -> None:
    with pytest.raises(FieldError):
        parse_cron(value)


ITEMS = """* ? L W H R LW 15W 1W 31W L-3 5L FRIL 5#2 5#5 0 1 5 7 12 28 29 30 31 59 60 99 1-5 5-1 5-5 0-7 */2 */0 5/3
    22-2/3 H/5 H(1-5) FEB mon jan-mar sat-mon */30 -1 1- x , / - # ( ) 1,,2"""
FIELD = st.lists(st.sampled_from(ITEMS.split()), min_size=1, max_size=3).map(",".join)
LIKELY = st.lists(FIELD, min_size=4, max_size=7).map(" ".join)


@settings(max_examples=250, deadline=1_000)
@given(st.one_of(LIKELY, st.text(max_size=40), st.text(alphabet="0123456789*/-,LWH#?() \t", max_size=60)))
@example("0 0 29 2 5#5")
@example("@")
@example("H H H H H H")
def test_any_text_is_read_or_refused_in_bounded_time(text: str) -> None:
    started = time.process_time()
    try:
        parsed = parse_cron(text)
    except FieldError as error:
        refusal = error
    else:
        refusal = None
        wall = int(NOW.timestamp())
        found = parsed.times(JOB).next_from(wall)
        assert found is not None
        assert parsed.times(JOB).last_until(found) == found
        assert parsed.times(JOB).count(wall, found + 1) == 1
        confirm(parsed)
    assert refusal is None or (refusal.field == "cron" and refusal.detail.isascii())
    assert time.process_time() - started < 0.5


PLAIN = "* 0 1 5 7 12 28 1-5 5-1 */2 */7 5/3 1,3 */30 22-2/3"


@settings(max_examples=150, deadline=1_000)
@given(st.lists(st.sampled_from(PLAIN.split()), min_size=5, max_size=6))
def test_croniter_walks_the_plain_lists_the_same_way(fields: list[str]) -> None:
    try:
        times = parse_cron(" ".join(fields)).times(None)
    except FieldError:
        return
    rule = times.days.rule
    lists = [times.seconds, times.minutes, times.hours, rule.days, rule.months, rule.weekdays]
    text = " ".join(",".join(map(str, sorted(values))) for values in lists)
    theirs = croniter(text, 0, second_at_beginning=True, day_or=not rule.both)
    wall = 0
    for _ in range(5):
        wall = times.next_from(wall + 1) or 0
        assert wall == int(theirs.get_next())
