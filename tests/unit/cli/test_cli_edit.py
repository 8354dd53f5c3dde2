"""``hourbell jobs edit``: what it sends, and what it refuses."""

from __future__ import annotations

import json

import click
import pytest
from hourbell.client import ClientError

from tests.unit.cli.conftest import JOB, Stage


@pytest.fixture
def job(stage: Stage) -> Stage:
    stage.answer("GET", "/v1/jobs/job_01", {**JOB, "version": 7, "target": {"sqs": {"queue_url": "q"}}})
    stage.answer("PATCH", "/v1/jobs/job_01", JOB)
    return stage


def edited(monkeypatch: pytest.MonkeyPatch, *texts: str | None) -> list[str]:
    """The user's editor leaves these texts, one after the other; what it was given."""
    shown, left = [], iter(texts)

    def edit(text: str, **_: object) -> str | None:
        shown.append(text)
        return next(left)

    monkeypatch.setattr(click, "edit", edit)
    return shown


def test_options_are_merged_into_the_version_that_was_read(job: Stage):
    assert job.run("jobs", "edit", "job_01", "--window", "5m", "--tag", "team=web", "--resumed").exit_code == 0
    assert job.sent() == {"window": "5m", "tags": {"team": "web"}, "paused": False}
    assert job.seen[-1].headers["if-match"] == '"7"'


def test_another_kind_of_schedule_takes_the_old_one_away(job: Stage):
    job.run("jobs", "edit", "job_01", "--every", "5m")
    assert job.sent() == {"schedule": {"cron": None, "every": "5m"}}
    job.run("jobs", "edit", "job_01", "--at", "2027-01-01T00:00:00Z")
    assert job.sent() == {"schedule": {"cron": None, "at": "2027-01-01T00:00:00Z"}}


def test_the_same_kind_keeps_what_is_not_named(job: Stage):
    job.run("jobs", "edit", "job_01", "--cron", "0 3 * * *")
    assert job.sent() == {"schedule": {"cron": "0 3 * * *"}}


def test_another_destination_takes_the_old_one_away(job: Stage):
    job.run("jobs", "edit", "job_01", "--url", "https://example.com/")
    assert job.sent() == {"target": {"sqs": None, "http": {"url": "https://example.com/"}}}


def test_an_edit_that_somebody_else_forestalled_is_refused(job: Stage):
    job.answer("PATCH", "/v1/jobs/job_01", {"status": 412, "detail": "is at version 8"}, 412)
    result = job.run("jobs", "edit", "job_01", "--window", "5m")
    assert isinstance(result.exception, ClientError)
    assert "changed meanwhile" in str(result.exception)


def test_the_editor_sends_only_what_changed(job: Stage, monkeypatch):
    document = {"name": "nightly", "schedule": {"cron": "0 2 * * *", "timezone": "UTC"}, "payload": None, "tags": {}}
    left = json.dumps({**document, "target": {"sqs": {"queue_url": "q"}}, "window": "PT5M", "paused": False})
    shown = edited(monkeypatch, "{", left)

    assert job.run("jobs", "edit", "job_01", "--editor", stdin="y\n").exit_code == 0

    assert json.loads(shown[0])["name"] == "nightly"
    assert shown[1] == "{"
    assert {name: value for name, value in job.sent().items() if value is not None} == {
        "schedule": {"timezone": "UTC"},
        "window": "PT5M",
    }


def test_an_editor_that_was_left_without_saving_changes_nothing(job: Stage, monkeypatch):
    edited(monkeypatch, None)
    assert job.run("jobs", "edit", "job_01", "--editor").output.strip() == "Nothing was changed."
    assert [request.method for request in job.seen] == ["GET"]


def test_a_null_that_a_patch_cannot_say_is_refused(job: Stage, monkeypatch):
    edited(monkeypatch, json.dumps({"payload": {"a": None}}))
    result = job.run("jobs", "edit", "job_01", "--editor")
    assert "payload" in str(result.exception)


@pytest.mark.parametrize("arguments", [(), ("--editor", "--window", "5m")])
def test_nothing_to_change_and_too_much_are_wrong_usage(job: Stage, arguments):
    assert job.run("jobs", "edit", "job_01", *arguments).exit_code == 2
