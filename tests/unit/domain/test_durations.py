from datetime import timedelta

import pytest
from hourbell.domain.durations import duration_ms, format_duration, parse_duration
from hourbell.domain.errors import FieldError
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("30s", 30_000),
        ("5m", 300_000),
        ("2h", 7_200_000),
        ("1d", 86_400_000),
        ("PT30S", 30_000),
        ("PT1.5S", 1_500),
        ("PT0.05S", 50),
        ("PT90M", 5_400_000),
        ("P1DT2H", 93_600_000),
        ("P1W", 604_800_000),
        ("PT0S", 0),
    ],
)
def test_both_forms_are_read(text: str, milliseconds: int) -> None:
    assert duration_ms(parse_duration(text, field="window")) == milliseconds


@pytest.mark.parametrize(
    "value",
    [
        *("", "P", "PT", "P1M", "P1Y", "30", "30S", "1h30m", "-5s", "PT-5S", "PT1,5S", "PT0.0001S", "P1DT", "5 m"),
        *("\u0665s", "9" * 400 + "s", "PT1S\n", "P99999999D", 30, 1.5, True, None, ["30s"], float("nan")),
    ],
    ids=ascii,
)
def test_anything_else_is_refused_naming_the_field(value: object) -> None:
    with pytest.raises(FieldError) as caught:
        parse_duration(value, field="window")
    assert caught.value.field == "window"


def test_bounds_are_part_of_the_range() -> None:
    assert parse_duration("1s", field="every", minimum_ms=1_000, maximum_ms=2_000) == timedelta(seconds=1)
    with pytest.raises(FieldError, match="between PT1S and PT2S"):
        parse_duration("PT2.001S", field="every", minimum_ms=1_000, maximum_ms=2_000)


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(0), "PT0S"),
        (timedelta(milliseconds=500), "PT0.5S"),
        (timedelta(seconds=30), "PT30S"),
        (timedelta(hours=1), "PT1H"),
        (timedelta(days=1), "P1D"),
        (timedelta(days=1, hours=2, minutes=3, seconds=4, milliseconds=50), "P1DT2H3M4.05S"),
        (timedelta(seconds=10), "PT10S"),
    ],
)
def test_the_iso_form_has_no_zero_parts(duration: timedelta, text: str) -> None:
    assert format_duration(duration) == text


@given(st.integers(0, 3_660 * 86_400_000))
def test_what_is_written_is_read_back(milliseconds: int) -> None:
    duration = timedelta(milliseconds=milliseconds)
    assert parse_duration(format_duration(duration), field="x") == duration
