"""EventBridge's cron expressions in Hourbell's words."""

from __future__ import annotations

import pytest
from hourbell.importing.aws_cron import translate
from hourbell.importing.plan import ImportRefusedError


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("0 10 * * ? *", "0 10 * * *"),
        ("15 12 * * ? *", "15 12 * * *"),
        ("0 18 ? * MON-FRI *", "0 18 * * 1-5"),
        ("0 8 1 * ? *", "0 8 1 * *"),
        ("0/10 * ? * MON-FRI *", "0-59/10 * * * 1-5"),
        ("*/5 8-17 ? * 2-6 *", "*/5 8-17 * * 1-5"),
        ("0 0 ? * 1 *", "0 0 * * 0"),
        ("0 0 ? * 7 *", "0 0 * * 6"),
        ("0 0 ? * SUN,WED *", "0 0 * * 0,3"),
        ("0 0 ? * sun *", "0 0 * * 0"),
        ("0 0 ? * 6-2 *", "0 0 * * 5-1"),
        ("0 0 ? * 2/2 *", "0 0 * * 1-6/2"),
        ("0 0 ? * 3#2 *", "0 0 * * 2#2"),
        ("0 0 ? * TUE#2 *", "0 0 * * 2#2"),
        ("0 0 ? * 6L *", "0 0 * * 5L"),
        ("0 0 ? * FRIL *", "0 0 * * 5L"),
        ("0 0 ? * L *", "0 0 * * 6"),
        ("0 5 L * ? *", "0 5 L * *"),
        ("0 5 LW * ? *", "0 5 LW * *"),
        ("0 5 15W * ? *", "0 5 15W * *"),
        ("0 5 1/7 * ? *", "0 5 1-31/7 * *"),
        ("0 0 1 JAN,APR-JUN ? *", "0 0 1 1,4-6 *"),
        ("0 0 1 2/3 ? *", "0 0 1 2-12/3 *"),
        ("00 08 01 01 ? *", "0 8 1 1 *"),
    ],
)
def test_fields_are_translated(theirs: str, ours: str):
    cron = translate(theirs)
    assert (cron.cron, cron.first_year, cron.last_year) == (ours, None, None)


@pytest.mark.parametrize(
    ("year", "years"),
    [
        ("2027", (2027, 2027)),
        ("2027-2029", (2027, 2029)),
        ("2027,2028", (2027, 2028)),
        ("2029,2027-2028", (2027, 2029)),
        ("2027/1", (2027, None)),
        ("1970-2199", (None, None)),
        ("1970-2030", (None, 2030)),
    ],
)
def test_years_are_bounds(year: str, years: tuple[int | None, int | None]):
    cron = translate(f"0 0 1 * ? {year}")
    assert (cron.first_year, cron.last_year) == years


@pytest.mark.parametrize(
    ("theirs", "why"),
    [
        ("0 10 * * ?", "has 5 fields"),
        ("0 10 * * * *", "must be [?]"),
        ("0 10 ? * ? *", "must be [?]"),
        ("0 10 1 * MON *", "must be [?]"),
        ("0 10 ? * 0 *", "0 is no day-of-week"),
        ("0 10 ? * 8 *", "8 is no day-of-week"),
        ("0 10 ? * 3#6 *", "3#6 is no day-of-week"),
        ("0 10 ? FOO 3 *", "FOO is no month"),
        ("x 10 ? * 3 *", "X is no minutes"),
        ("0 10 L-3 * ? *", "L-3 is no day-of-month"),
        ("0 10 1 * ? 2027,2029", "have holes"),
        ("0 10 1 * ? 2027/2", "have holes"),
        ("0 10 1 * ? 1969", "1969 is no year"),
        ("0 10 1 * ? 2030-2027", "2030-2027 is no year"),
        ("0 10 1 * ? 27", "27 is no year"),
    ],
)
def test_what_has_no_counterpart_is_refused(theirs: str, why: str):
    with pytest.raises(ImportRefusedError, match=why):
        translate(theirs)


@pytest.mark.parametrize(
    ("theirs", "expected"), [("*/5 8 * * ? *", True), ("0 * * * ? *", True), ("0/5 8 * * ? *", False)]
)
def test_intervals_are_told_from_fixed_times(theirs: str, expected: bool):
    assert translate(theirs).has_interval is expected
