from __future__ import annotations

from uuid import UUID

import pytest
from hourbell.domain.description import describe
from hourbell.domain.schedule import parse_schedule

from tests.seeds import T0


def words(schedule: dict, job_id: UUID | None = None) -> str:
    return describe(parse_schedule(schedule, now=T0), job_id=job_id)


@pytest.mark.parametrize(
    ("cron", "said"),
    [
        ("30 2 * * 1", "At 02:30 AM, only on Monday"),
        ("30 2 * * 7", "At 02:30 AM, only on Sunday"),
        ("*/5 * * * * *", "Every 5 seconds"),
        ("0 0 13 * 5", "At 12:00 AM, on day 13 of the month, or on Friday"),
        ("0 9 * * MON#1", "At 09:00 AM, on the first Monday of the month"),
        ("0 0 L-3 * *", "At 12:00 AM, 3 days before the last day of the month"),
        ("@hourly", "Every hour"),
        ("@daily", "At 12:00 AM"),
    ],
)
def test_cron(cron: str, said: str):
    assert words({"cron": cron, "timezone": "UTC"}) == said


def test_h_is_worked_out_for_the_job():
    assert words({"cron": "H(10-10) 2 * * *", "timezone": "UTC"}, UUID(int=1)) == "At 02:10 AM"
    assert words({"cron": "0 2 H(3-3),L * *", "timezone": "UTC"}, UUID(int=1)).startswith("At 02:00 AM, on day 3")


@pytest.mark.parametrize("language", ["de_DE.UTF-8", "C"])
def test_it_is_english_whatever_the_machine_speaks(monkeypatch: pytest.MonkeyPatch, language: str):
    monkeypatch.setenv("LANG", language)
    monkeypatch.setenv("LC_ALL", language)
    assert words({"cron": "17 4 * * 2", "timezone": "UTC"}) == "At 04:17 AM, only on Tuesday"


@pytest.mark.parametrize(
    ("every", "said"),
    [
        ("1s", "Every second"),
        ("PT6H", "Every 6 hours"),
        ("PT2H30M", "Every 2 hours and 30 minutes"),
        ("P1DT1H1.5S", "Every 1 day, 1 hour, 1 second and 500 milliseconds"),
    ],
)
def test_every(every: str, said: str):
    assert words({"every": every}) == said


def test_at():
    schedule = {"at": "2028-05-29T09:00:00", "timezone": "Europe/Paris"}
    assert words(schedule) == "Once, at 2028-05-29T09:00:00"


def test_what_the_library_cannot_read_is_shown_as_it_was_written(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> str:
        raise ValueError

    monkeypatch.setattr("cron_descriptor.ExpressionDescriptor.get_description", refuse)
    assert words({"cron": "18 4 * * 2", "timezone": "UTC"}) == "18 4 * * 2"
