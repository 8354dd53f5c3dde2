from datetime import UTC, datetime, timedelta, timezone

import pytest
from hourbell.domain.errors import FieldError
from hourbell.domain.instants import epoch_ms, floor_ms, format_instant, from_epoch_ms, parse_instant
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2027-03-14T07:00:00Z", "2027-03-14T07:00:00.000Z"),
        ("2027-03-14T07:00:00.1239Z", "2027-03-14T07:00:00.123Z"),
        ("2027-03-14t07:00:00z", "2027-03-14T07:00:00.000Z"),
        ("2027-03-14T07:00+05:30", "2027-03-14T01:30:00.000Z"),
        ("2027-03-14T23:00:00-02:00", "2027-03-15T01:00:00.000Z"),
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
        ("2199-12-31T23:59:59.999Z", "2199-12-31T23:59:59.999Z"),
    ],
)
def test_read_and_written(text: str, written: str) -> None:
    assert format_instant(parse_instant(text, field="at")) == written


@pytest.mark.parametrize(
    "value",
    [
        *("", "2027-03-14", "2027-03-14T07:00:00", "2027-03-14 07:00:00Z", "2027-02-29T00:00:00Z", "now"),
        *("2027-03-14T24:00:00Z", "2027-03-14T07:00:60Z", "2027-03-14T07:00:00+24:00", "2200-01-01T00:00:00Z"),
        *("1969-12-31T23:59:59Z", "2199-12-31T23:59:59-01:00", "\u0662027-03-14T07:00:00Z", "0" * 100_000),
        *("2027-03-14T07:00:00Z\x00", 1_700_000_000, 1.5, None, True, {}, float("inf")),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_refused_naming_the_field(value: object) -> None:
    with pytest.raises(FieldError) as caught:
        parse_instant(value, field="from")
    assert caught.value.field == "from"


def test_cut_to_the_millisecond_in_utc() -> None:
    instant = datetime(2027, 3, 14, 12, 30, 0, 999_999, tzinfo=timezone(timedelta(hours=5)))
    assert floor_ms(instant) == datetime(2027, 3, 14, 7, 30, 0, 999_000, tzinfo=UTC)


@given(st.integers(0, 7_258_118_399_999))
def test_milliseconds_are_exact(milliseconds: int) -> None:
    instant = from_epoch_ms(milliseconds)
    assert epoch_ms(instant) == milliseconds
    assert parse_instant(format_instant(instant), field="x") == instant
