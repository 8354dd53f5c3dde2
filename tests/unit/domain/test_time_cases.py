"""The cases of tests/cases/time.json: inputs from public bug reports, with answers worked out twice.

Where a case names several right answers, `CHOSEN` says which one is ours (the file's own "decisions" say why).
"""

import json
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hourbell.domain import clock
from hourbell.domain.errors import FieldError, FieldErrors
from hourbell.domain.ids import run_id
from hourbell.domain.instants import parse_instant
from hourbell.domain.preview import preview
from hourbell.domain.schedule import Schedule, last_before, next_after, parse_schedule

from tests.unit.domain.clocks import JOB, NOW, at, cron, following, inside, later, refused, utc, zulu

FILE = Path(__file__).parents[2] / "cases" / "time.json"
CASES = {case["id"]: case for case in json.loads(FILE.read_text(encoding="utf-8"))["cases"]}
CHOSEN = {"A15c": "if_0_to_6", "A26": None, "A28": "five_L", "A29": "if_seconds_first"}
# Cases whose answer is not a list of occurrences; each has a test of its own below.
SPECIAL = {"A26", "B50", "B51", "B54", "B57", "B60", "B61", "B62", "B64"} | {
    name for name in CASES if name.startswith("C")
}
GAP_SKIPPED = "if_eventbridge_rule_skip_gap_once_in_fold"
LITERAL = "if_literal_wall_clock_rule_quartz_k8s"


def ids(kind: Any) -> list[str]:
    return [name for name, case in CASES.items() if name not in SPECIAL and kind(case)]


def test_every_case_has_its_test() -> None:
    listed = ids(lambda case: "n" in case["input"])
    refusals = ids(lambda case: isinstance(case["expected"], str))
    windows = ids(lambda case: "window" in case["input"])
    assert sorted([*listed, *refusals, *windows, *SPECIAL, "A28"]) == sorted(CASES)


@pytest.mark.parametrize("name", ids(lambda case: "n" in case["input"]))
def test_next_runs(name: str) -> None:
    given, expected = CASES[name]["input"], CASES[name]["expected"]
    answers = expected if isinstance(expected, list) else expected[CHOSEN[name]]
    assert following(cron(given["expr"], given.get("zone", "UTC")), given["start"], given["n"]) == answers


REFUSED = [
    (name, expression)
    for name in ids(lambda case: isinstance(case["expected"], str))
    for expression in CASES[name]["input"]["exprs"]
]


@pytest.mark.parametrize(("name", "expression"), REFUSED, ids=ascii)
def test_refused_at_once_naming_the_field(name: str, expression: str) -> None:
    started = time.process_time()
    with pytest.raises((FieldError, FieldErrors)) as caught:  # noqa: PT012 - H is refused where no job is
        schedule = parse_schedule({"cron": expression}, now=NOW)
        preview(schedule, job_id=None, after=NOW, count=1)
    assert time.process_time() - started < 0.05
    assert caught.value.errors[0].field == "schedule.cron"


def window(text: str) -> tuple[str, str]:
    after, until = text.strip("(]").split(", ")
    return after, until


@pytest.mark.parametrize("name", ids(lambda case: "window" in case["input"]))
def test_clock_change(name: str) -> None:
    given = CASES[name]["input"]
    found = inside(cron(given["expr"], given["zone"]), *window(given["window"]))
    assert found == CASES[name]["expected"]["main"]


@pytest.mark.parametrize("name", [name for name in CASES if GAP_SKIPPED in CASES[name]["expected"]])
def test_gap_skip(name: str) -> None:
    given = CASES[name]["input"]
    found = inside(cron(given["expr"], given["zone"], gap="skip"), *window(given["window"]))
    assert found == CASES[name]["expected"][GAP_SKIPPED]


@pytest.mark.parametrize("name", [name for name in CASES if LITERAL in CASES[name]["expected"]])
def test_repeat_twice(name: str) -> None:
    given = CASES[name]["input"]
    found = inside(cron(given["expr"], given["zone"], gap="skip", repeat="twice"), *window(given["window"]))
    assert found == CASES[name]["expected"][LITERAL]


def test_a26_a_31st_that_the_month_lacks_is_passed_over() -> None:
    given = CASES["A26"]["input"]
    found = following(cron(given["expr"]), given["start"], given["n"])
    assert found == CASES["A26"]["expected"]["node_cron_rule"]


def test_a28_the_last_friday() -> None:
    number, reversed_number, name = CASES["A28"]["input"]["exprs"]
    answers = CASES["A28"]["expected"]["five_L"]
    assert following(cron(number), "2026-01-01T00:00Z", 4) == answers
    assert following(cron(name), "2026-01-01T00:00Z", 4) == answers
    assert "5L" in refused({"cron": reversed_number})[1]


def test_b50_the_pinned_zone_data_knows_paraguays_new_offset() -> None:
    given, expected = CASES["B50"]["input"], CASES["B50"]["expected"]
    found = following(cron(given["expr"], given["zone"]), given["after"], 1)
    assert found == [expected["tzdata_2025a_and_later"]]


def test_b51_the_pinned_zone_data_knows_lebanons_last_word() -> None:
    given, expected = CASES["B51"]["input"], CASES["B51"]["expected"]
    found = following(cron(given["expr"], given["zone"]), given["after"], 1)
    assert found == [expected["tzdata_2023c"]]


@pytest.mark.parametrize("name", CASES["B54"]["expected"]["reject"])
def test_b54_a_zone_that_is_no_more_is_refused(name: str) -> None:
    assert refused({"cron": "0 9 * * *", "timezone": name})[0] == "schedule.timezone"


@pytest.mark.parametrize(("old", "new"), CASES["B54"]["expected"]["accept_same_instant"])
def test_b54_a_renamed_zone_means_the_same(old: str, new: str) -> None:
    ours, theirs = cron("0 9 * * *", old), cron("0 9 * * *", new)
    assert following(ours, "2026-01-01T00:00Z", 400) == following(theirs, "2026-01-01T00:00Z", 400)
    assert ours.timezone == old


def test_b57_missing_zone_data_fails_the_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clock.check_zone_data()
    monkeypatch.setattr(clock, "_ZONES", tmp_path)
    clock.zone_names.cache_clear()
    clock._load.cache_clear()
    with pytest.raises(clock.ZoneDataError, match="Asia/Singapore"):
        clock.check_zone_data()
    clock.zone_names.cache_clear()


def before(schedule: Schedule, instant: str) -> str:
    """Strictly before: occurrences lie on whole milliseconds."""
    found = last_before(schedule, None, later(utc(instant), milliseconds=-1))
    assert found is not None
    return zulu(found.scheduled_for)


def test_b60_the_previous_run_is_never_now_or_later() -> None:
    given, expected = CASES["B60"]["input"], CASES["B60"]["expected"]
    spring, autumn = cron(given["expr"], given["zone"]), cron(given["fall_expr"], given["zone"])
    skipping = cron(given["expr"], given["zone"], gap="skip")
    assert before(spring, given["at"][0]) == expected["prev_at_0700"]
    assert before(spring, given["at"][1]) == given["at"][0]
    assert before(skipping, given["at"][1]) == "2024-03-09T07:00:00Z"
    assert before(autumn, given["fall_at"]) == expected["fall_prev"]


def test_b61_from_inside_the_second_pass_the_first_is_gone() -> None:
    given = CASES["B61"]["input"]
    once, twice = (cron(given["expr"], given["zone"], repeat=repeat) for repeat in ("once", "twice"))
    assert following(once, "2026-11-01T06:30:00Z", 1) == ["2026-11-02T06:45:00Z"]
    assert following(twice, "2026-11-01T06:30:00Z", 1) == [CASES["B61"]["expected"]["literal_rule"]]


def test_b62_two_passes_are_two_runs_in_the_order_of_instants() -> None:
    schedule = cron("30 1 * * *", "America/New_York", repeat="twice")
    first, second = (utc(text) for text in following(schedule, "2026-11-01T00:00Z", 2))
    assert first < second
    assert run_id(JOB, first) != run_id(JOB, second)


def test_b64_strictly_after_also_by_a_microsecond() -> None:
    schedule = cron(CASES["B64"]["input"]["expr"])
    instants = [datetime.fromisoformat(text) for text in CASES["B64"]["input"]["after"]]
    found = [following(schedule, instant, 1)[0] for instant in instants]
    assert found == CASES["B64"]["expected"]["main"]


def test_c01_a_naive_time_needs_a_zone() -> None:
    field, detail = refused({"at": CASES["C01"]["input"]["run_at"]})
    assert field == "schedule.at"
    assert "timezone" in detail


def test_c01_with_a_zone_text_zone_and_instant_are_kept() -> None:
    schedule = at(CASES["C01"]["input"]["run_at"], timezone="Asia/Kolkata")
    assert following(schedule, "2026-01-01T00:00Z", 2) == ["2026-09-02T17:00:00Z"]
    assert (schedule.text, schedule.timezone) == (CASES["C01"]["input"]["run_at"], "Asia/Kolkata")


def test_c02_an_offset_is_part_of_the_time() -> None:
    found = [following(at(text), "2026-01-01T00:00Z", 1)[0] for text in CASES["C02"]["input"]["run_at"]]
    assert found == CASES["C02"]["expected"]["main"]


def test_c03_an_ambiguous_time_is_the_first_pass() -> None:
    given = CASES["C03"]["input"]
    found = following(at(given["local"], timezone=given["zone"]), "2026-01-01T00:00Z", 2)
    assert found == ["2026-11-01T05:30:00Z"]


def test_c04_a_time_in_the_gap_moves_on_by_the_gap() -> None:
    given = CASES["C04"]["input"]
    found = following(at(given["local"], timezone=given["zone"]), "2026-01-01T00:00Z", 2)
    assert found == ["2026-03-08T07:30:00Z"]


def test_c04_with_gap_skip_it_does_not_exist() -> None:
    given = CASES["C04"]["input"]
    field, detail = refused({"at": given["local"], "timezone": given["zone"], "gap": "skip"})
    assert field == "schedule.at"
    assert "does not exist" in detail


@pytest.mark.parametrize("text", CASES["C06"]["input"]["run_at"])
def test_c06_finer_digits_are_cut_never_rounded(text: str) -> None:
    assert zulu(parse_instant(text, field="at")) == "2026-01-01T12:59:59.999Z"


@pytest.mark.parametrize("text", CASES["C08"]["input"]["run_at"])
def test_c08_no_time_leaves_the_calendar(text: str) -> None:
    assert refused({"at": text})[0] == "schedule.at"


@pytest.mark.parametrize("value", CASES["C09"]["input"]["delay_seconds"], ids=repr)
def test_c09_only_a_duration_is_an_interval(value: Any) -> None:
    assert refused({"every": value})[0] == "schedule.every"


def test_c15_a_month_is_no_duration() -> None:
    given = CASES["C15"]["input"]
    assert refused({"every": given["every"], "anchor": given["anchor"]})[0] == "schedule.every"


def test_c15_the_end_of_the_month_does_not_stick_to_the_28th() -> None:
    given = CASES["C15"]["input"]
    found = following(cron("0 0 L * *"), given["anchor"], given["n"])
    assert [text[:10] for text in found] == CASES["C15"]["expected"]["main"]


def test_nothing_is_found_at_or_before_the_instant_asked_about() -> None:
    schedule = cron("*/7 * * * *", "Australia/Lord_Howe")
    instant = utc("2026-04-04T14:20Z")
    for _ in range(30):
        found = next_after(schedule, None, instant)
        assert found is not None
        assert found.scheduled_for > instant
        instant = found.scheduled_for
