import pytest
from hourbell.domain.clock import Zone
from hourbell.domain.errors import FieldError
from hourbell.domain.preview import preview
from hourbell.domain.schedule import times_left_out

from tests.unit.domain.clocks import JOB, at, cron, every, utc


def lines(schedule, after: str, count: int, **more) -> list[tuple[str, str | None]]:
    """Local time without milliseconds, and the note."""
    shown = preview(schedule, job_id=more.pop("job", None), after=utc(after), count=count, **more)
    return [(line["local"].replace(".000", ""), line["note"]) for line in shown]


def test_the_shape_is_the_api_s() -> None:
    assert preview(cron("0 9 * * *", "Asia/Kolkata"), job_id=None, after=utc("2026-01-01T00:00Z"), count=1) == [
        {"scheduled_for": "2026-01-01T03:30:00.000Z", "local": "2026-01-01T09:00:00.000+05:30", "note": None}
    ]


def test_a_moved_run_says_so() -> None:
    assert lines(cron("30 2 * * *", "America/New_York"), "2026-03-07T12:00Z", 2) == [
        ("2026-03-08T03:00:00-04:00", "shifted by the clock change from 02:30"),
        ("2026-03-09T02:30:00-04:00", None),
    ]


def test_a_left_out_run_is_told_at_the_next() -> None:
    assert lines(cron("30 2 * * *", "America/New_York", gap="skip"), "2026-03-07T12:00Z", 1) == [
        ("2026-03-09T02:30:00-04:00", "2026-03-08 02:30 left out by the clock change"),
    ]


def test_a_skipped_day_is_told_at_the_next() -> None:
    assert lines(cron("0 12 * * *", "Pacific/Apia"), "2011-12-30T00:00Z", 1) == [
        ("2011-12-31T12:00:00+14:00", "2011-12-30 12:00 left out by the clock change"),
    ]


def test_an_interval_like_schedule_tells_what_the_gap_took() -> None:
    assert lines(cron("0 * * * *", "America/New_York"), "2026-03-08T06:30Z", 1) == [
        ("2026-03-08T03:00:00-04:00", "2026-03-08 02:00 left out by the clock change"),
    ]


def test_the_one_pass_of_two_is_told() -> None:
    assert lines(cron("30 1 * * *", "America/New_York"), "2026-10-31T12:00Z", 2) == [
        ("2026-11-01T01:30:00-04:00", "this time comes twice; it runs in the first pass"),
        ("2026-11-02T01:30:00-05:00", None),
    ]


def test_both_passes_are_told() -> None:
    assert lines(cron("30 1 * * *", "America/New_York", repeat="twice"), "2026-10-31T12:00Z", 2) == [
        ("2026-11-01T01:30:00-04:00", "first pass of a time that comes twice"),
        ("2026-11-01T01:30:00-05:00", "second pass of a time that comes twice"),
    ]


def test_a_one_off_tells_its_move_too() -> None:
    assert lines(at("2026-03-08T02:30:00", timezone="America/New_York"), "2026-01-01T00:00Z", 5) == [
        ("2026-03-08T03:30:00-04:00", "shifted by the clock change from 02:30"),
    ]


def test_an_interval_has_no_notes() -> None:
    assert lines(every("1h", "2026-03-08T06:00:00Z", timezone="America/New_York"), "2026-03-08T06:00Z", 1) == [
        ("2026-03-08T03:00:00-04:00", None),
    ]


def test_max_runs_ends_the_preview() -> None:
    assert len(lines(cron("* * * * *", max_runs=3), "2026-01-01T00:00Z", 10)) == 3
    assert len(lines(cron("* * * * *", max_runs=3), "2026-01-01T00:00Z", 10, runs_planned=2)) == 1


def test_each_gap_is_told_once_however_far_ahead() -> None:
    schedule = cron("30 2 * * *", "America/Chicago", gap="skip")
    left_out = list(times_left_out(schedule, None, utc("2031-01-01T00:00Z"), utc("2071-01-01T00:00Z")))
    assert len(left_out) == len(set(left_out)) == 40


def test_a_job_is_needed_for_h() -> None:
    with pytest.raises(FieldError, match=r"schedule\.cron"):
        lines(cron("H * * * *"), "2026-01-01T00:00Z", 1)
    assert len(lines(cron("H * * * *"), "2026-01-01T00:00Z", 2, job=JOB)) == 2


@pytest.mark.parametrize("name", ["UTC", "Asia/Kolkata"])
def test_a_zone_without_clock_changes_is_not_searched_for_them_to_the_end_of_time(monkeypatch, name) -> None:
    looked: list[int] = []
    offset = Zone._offset
    monkeypatch.setattr(Zone, "_offset", lambda self, second: looked.append(second) or offset(self, second))

    assert len(lines(cron("29 * * * *", name), "2026-01-01T00:00Z", 100)) == 100

    assert len(looked) < 2_000  # a few years, once
