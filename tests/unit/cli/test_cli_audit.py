"""``hourbell jobs show --audit``."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hourbell.cli import job_audit
from rich.console import Console

from tests.unit.cli.conftest import Stage

KEY, REQUEST = "key_" + 26 * "0", "YkT3vh2ZjoEEMzA="
ANCHOR = '"anchor":"2026-11-29T12:00:00.000Z","gap":"run","repeat":"once"'
SCHEDULE = {
    "field": "schedule",
    "old": f'{{"every":"PT10S",{ANCHOR}}}',
    "new": f'{{"every":"PT30S",{ANCHOR}}}',
}
LONG = {"field": "payload", "old": None, "new": json.dumps({"note": " ".join(["word"] * 30)})}


def page(*changes: dict[str, Any]) -> dict[str, Any]:
    at = "2026-11-29T12:00:00.000Z"
    change = {"resource": "job_01", "action": "edited", "changes": list(changes), "key": KEY, "request_id": REQUEST}
    return {"items": [{**change, "recorded_at": at}], "next_cursor": None}


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        (SCHEDULE["old"], SCHEDULE["new"], ["x.every: PT10S → PT30S"]),
        ('{"cron":"0 2 * * *"}', '{"every":"PT1H"}', ["x.cron: 0 2 * * * → -", "x.every: - → PT1H"]),
        ('{"a":{"b":1,"c":[1]}}', '{"a":{"b":"1","c":[1,2]}}', ['x.a.b: 1 → "1"', "x.a.c: [1] → [1, 2]"]),
        ('{"a":null}', "{}", ["x.a: null → -"]),
        ('{"a":1}', '{"a":true}', ["x.a: 1 → true"]),
        (None, '{"team":"pay"}', ["x.team: - → pay"]),
        (None, "{}", ["x: - → {}"]),
        ("PT30S", "PT1M", ["x: PT30S → PT1M"]),
        (None, "beat", ["x: - → beat"]),
        ('{"same": "a, and b…', '{"same": "a, and c…', ["x: …b… → …c…"]),
        (199 * "y" + "…", 199 * "y" + "…", ["x: changed, beyond the 199 letters that are kept of it"]),
        ("\x1b[31m", "plain", ['x: "\\u001b[31m" → plain']),
    ],
)
def test_only_the_members_that_differ_are_told(old: str | None, new: str | None, lines: list[str]):
    assert list(job_audit.differences("x", old, new)) == lines


@pytest.mark.parametrize("width", [80, 40])
def test_a_change_fits_a_terminal_and_loses_nothing(stage: Stage, monkeypatch: pytest.MonkeyPatch, width: int):
    stage.answer("GET", "/v1/jobs/job_01/audit", page(SCHEDULE, LONG))
    monkeypatch.setattr(
        job_audit, "console", lambda: Console(width=width, highlight=False, force_terminal=True, color_system=None)
    )
    lines = [line.rstrip() for line in stage.run("jobs", "show", "job_01", "--audit").output.splitlines()]
    assert max(map(len, lines)) <= width
    assert "  schedule.every: PT10S → PT30S" in lines
    assert " ".join(lines).count("word") == 30
    assert all(any(told in line for line in lines) for told in (KEY, REQUEST, "2026-11-29T12:00:00.000Z  edited"))


def test_a_pipe_gets_a_change_a_line_and_json_gets_all(stage: Stage):
    stage.answer("GET", "/v1/jobs/job_01/audit", page(SCHEDULE, LONG))
    lines = stage.run("jobs", "show", "job_01", "--audit").output.splitlines()
    assert len(lines) == 4
    assert json.loads(stage.run("jobs", "show", "job_01", "--audit", "--json").output) == page(SCHEDULE, LONG)


def test_a_job_that_was_never_changed_says_so(stage: Stage):
    stage.answer("GET", "/v1/jobs/job_01/audit", {"items": [], "next_cursor": None})
    assert stage.run("jobs", "show", "job_01", "--audit").output == "No changes on record.\n"
