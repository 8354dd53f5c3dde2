"""``hourbell preview`` works without a server."""

from __future__ import annotations

import json

import pytest
from hourbell.cli import main
from typer.testing import CliRunner


def preview(*arguments: str):
    return CliRunner().invoke(main.app, ["preview", *arguments])


def test_json_is_the_preview_reply():
    result = preview(
        "--cron", "0 2 * * *", "--timezone", "Asia/Kolkata", "--after", "2026-11-29T00:00:00Z", "--count", "2", "--json"
    )  # fmt: skip
    assert result.exit_code == 0
    occurrences = json.loads(result.stdout)["occurrences"]
    assert [each["scheduled_for"] for each in occurrences] == ["2026-11-29T20:30:00.000Z", "2026-11-30T20:30:00.000Z"]
    assert set(occurrences[0]) == {"scheduled_for", "local", "note"}


def test_a_shifted_time_says_so():
    schedule = ("--cron", "30 2 * * *", "--timezone", "America/New_York")
    result = preview(*schedule, "--after", "2026-03-07T12:00:00Z", "--count", "1", "--json")
    (occurrence,) = json.loads(result.stdout)["occurrences"]
    assert occurrence["scheduled_for"] == "2026-03-08T07:00:00.000Z"
    assert occurrence["note"]


def test_a_table_by_default():
    result = preview("--every", "5s", "--after", "2026-11-29T00:00:00Z", "--count", "3")
    assert result.exit_code == 0
    assert result.stdout.count("2026-11-29T00:00:") >= 3


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("--cron", "61 * * * *"), "schedule.cron"),
        (("--cron", "0 0 31 2 *"), "schedule.cron"),
        (("--cron", "0 0 * * *", "--timezone", "Mars/Olympus"), "schedule.timezone"),
        (("--cron", "0 0 * * *", "--gap", "jump"), "schedule.gap"),
        (("--cron", "0 0 * * *", "--after", "yesterday"), "after"),
        (("--cron", "0 0 * * *", "--every", "5s"), "schedule"),
    ],
)
def test_a_refusal_is_one_line_that_names_the_field(arguments: tuple[str, ...], field: str):
    result = preview(*arguments)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stderr.startswith(f"hourbell: {field}")


def test_one_field_is_not_many():
    assert "1 field: 5 are needed" in preview("--cron", "5").stderr


def test_no_schedule_is_wrong_usage():
    assert preview("--count", "3").exit_code == 2
