"""``hourbell runs tail`` and ``redrive``."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from hourbell.cli import run_tail

from tests.unit.cli.conftest import JOB, RUN, Stage

QUEUED = {**RUN, "id": "run_02", "scheduled_for": "2026-11-29T13:00:00.000Z", "state": "queued", "attempt": 0,
          "lateness_ms": None, "error": None}  # fmt: skip
ENDED = {**RUN, "error": "the target\nanswered 503"}


def looks(stage: Stage, monkeypatch: pytest.MonkeyPatch, *pages: list[dict[str, Any]] | Exception) -> None:
    """What the API lists, look after look; then the user presses Ctrl-C."""
    left = list(pages)

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/jobs/job_01":
            return httpx.Response(200, json=JOB)
        if request.url.path != "/v1/runs":
            return stage.replies["GET", request.url.path]
        page = left.pop(0)
        if isinstance(page, Exception):
            raise page
        return httpx.Response(200, json={"items": page, "next_cursor": None})

    def sleep(_seconds: float) -> None:
        if not left:
            raise KeyboardInterrupt

    stage.handlers["GET"] = answer
    monkeypatch.setattr(run_tail.time, "sleep", sleep)


def test_the_latest_runs_are_shown_oldest_first(stage: Stage, monkeypatch):
    looks(stage, monkeypatch, [QUEUED, ENDED])
    result = stage.run("runs", "tail")
    first, second = result.output.splitlines()
    assert (result.exit_code, "run_01" in first, "run_02" in second) == (0, True, True)
    assert first.endswith("attempt 2  7 ms late  the target answered 503")


def test_runs_are_shown_with_their_jobs_name_which_is_asked_for_once(stage: Stage, monkeypatch):
    looks(stage, monkeypatch, [ENDED], [QUEUED, ENDED], [{**QUEUED, "state": "succeeded"}, ENDED])
    lines = stage.run("runs", "tail", "-f").output.splitlines()
    assert [line.split()[3] for line in lines] == ["nightly"] * 3
    assert [request.url.path for request in stage.seen].count("/v1/jobs/job_01") == 1


def test_a_name_that_cannot_be_had_now_keeps_no_run_back_and_is_asked_for_again(stage: Stage, monkeypatch):
    replies = [httpx.Response(403, json={"status": 403, "detail": "no"}), httpx.Response(200, json=JOB)]
    pages = [[QUEUED], [{**QUEUED, "state": "succeeded"}]]

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path != "/v1/runs":
            return replies.pop(0)
        return httpx.Response(200, json={"items": pages.pop(0), "next_cursor": None})

    def sleep(_seconds: float) -> None:
        if not pages:
            raise KeyboardInterrupt

    stage.handlers["GET"] = answer
    monkeypatch.setattr(run_tail.time, "sleep", sleep)
    lines = stage.run("runs", "tail", "-f").output.splitlines()
    assert [line.split()[3] for line in lines] == ["job_01", "nightly"]


def test_following_shows_what_is_new_and_what_changed_and_ends_quietly(stage: Stage, monkeypatch):
    done = {**QUEUED, "state": "succeeded", "attempt": 1}
    looks(stage, monkeypatch, [ENDED], [QUEUED, ENDED], [QUEUED, ENDED], [done, ENDED])
    result = stage.run("runs", "tail", "-f", "-n", "0", "--json")
    lines = [json.loads(line) for line in result.output.splitlines()]
    assert [(line["id"], line["state"]) for line in lines] == [("run_02", "queued"), ("run_02", "succeeded")]
    assert result.exit_code == 130
    assert {request.url.path for request in stage.seen} == {"/v1/runs"}


def test_a_run_that_left_the_page_is_not_forgotten_before_it_ends(stage: Stage, monkeypatch):
    stage.answer("GET", "/v1/runs/run_02", {**QUEUED, "state": "succeeded"})
    looks(stage, monkeypatch, [QUEUED], [ENDED], [ENDED])
    output = stage.run("runs", "tail", "-f").output
    assert [line.split()[1:3] for line in output.splitlines()] == [
        ["run_02", "queued"], ["run_01", "dead"], ["run_02", "succeeded"],
    ]  # fmt: skip


def test_following_outlives_a_moment_without_an_answer(stage: Stage, monkeypatch):
    watch = iter([[], run_tail.UnreachableError("No answer"), [QUEUED]])

    def look(_self: object) -> list[dict[str, Any]]:
        found = next(watch)
        if isinstance(found, Exception):
            raise found
        return found

    looks(stage, monkeypatch, [])
    monkeypatch.setattr(run_tail.Watch, "look", look)
    turns = iter([None, None, KeyboardInterrupt])

    def sleep(_seconds: float) -> None:
        turn = next(turns)
        if turn is not None:
            raise turn

    monkeypatch.setattr(run_tail.time, "sleep", sleep)
    output = stage.run("runs", "tail", "-f").output
    assert "No answer" in output
    assert "run_02" in output


def test_a_redrive_counts_asks_and_goes_on_until_nothing_is_left(stage: Stage):
    replies = [(10_000, True), (10_000, True), (3, False)]

    def answer(request: httpx.Request) -> httpx.Response:
        dry_run = json.loads(request.content)["dry_run"]
        runs, more = (10_000, True) if dry_run else replies.pop(0)
        return httpx.Response(200, json={"dry_run": dry_run, "runs": runs, "more": more})

    stage.handlers["POST"] = answer
    assert stage.run("runs", "redrive", "--target", "billing", stdin="n\n").exit_code == 1
    assert len(replies) == 3
    result = stage.run("runs", "redrive", "--target", "billing", "--from", "2026-11-29T00:00:00Z", stdin="y\n")
    assert "Start 10,000 runs and more over?" in result.output
    assert "20,003 runs started over." in result.output
    assert stage.sent()["filter"] == {"state": "dead", "target": "billing", "from": "2026-11-29T00:00:00Z"}


def test_a_dry_run_of_a_redrive_only_counts(stage: Stage):
    stage.answer("POST", "/v1/runs/redrive", {"dry_run": True, "runs": 1, "more": False})
    assert stage.run("runs", "redrive", "--dry-run").output.strip() == "1 run to start over."
    assert len(stage.seen) == 1


def test_only_ended_runs_are_redriven(stage: Stage):
    assert stage.run("runs", "redrive", "--state", "running").exit_code == 2
