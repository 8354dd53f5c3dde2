"""The command line: what it asks, what it prints, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from hourbell.cli import connection, main
from hourbell.client import ClientError, UnreachableError
from typer.testing import CliRunner

from tests.unit.cli.conftest import JOB, RUN, Stage


def test_jobs_are_listed_as_a_table(stage: Stage):
    stage.answer("GET", "/v1/jobs", {"items": [JOB], "next_cursor": "abc"})
    result = stage.run("jobs", "list", "--state", "active")
    assert result.exit_code == 0
    assert "0 2 * * * (Asia/Kolkata)" in result.output
    assert "--cursor abc" in result.output
    assert stage.seen[0].url.params["state"] == "active"


def test_json_is_the_apis_own(stage: Stage):
    page = {"items": [JOB], "next_cursor": None}
    stage.answer("GET", "/v1/jobs", page)
    assert json.loads(stage.run("jobs", "list", "--json").output) == page


def test_pages_that_hold_no_job_are_passed_over(stage: Stage):
    pages = iter(
        [{"items": [], "next_cursor": "a"}, {"items": [], "next_cursor": "b"}, {"items": [JOB], "next_cursor": "c"}]
    )
    stage.handlers["GET"] = lambda _: httpx.Response(200, json=next(pages))

    output = stage.run("jobs", "list", "--q", "old").output

    assert "nightly" in output
    assert "More: --cursor c" in output
    assert [request.url.params.get("cursor") for request in stage.seen] == [None, "a", "b"]


def test_an_empty_list_says_so(stage: Stage):
    stage.answer("GET", "/v1/jobs", {"items": [], "next_cursor": None})
    assert stage.run("jobs", "list").output.strip() == "No jobs."


def test_a_job_is_created_from_options(stage: Stage):
    stage.answer("POST", "/v1/jobs", JOB, 201)
    result = stage.run(
        "jobs", "create", "--name", "nightly", "--cron", "0 2 * * *", "--timezone", "Asia/Kolkata",
        "--target", "billing", "--payload", '{"ledger": 7}', "--tag", "team=payments", "--window", "30m", "--paused",
    )  # fmt: skip
    assert result.exit_code == 0
    assert stage.sent() == {
        "name": "nightly",
        "schedule": {"cron": "0 2 * * *", "timezone": "Asia/Kolkata"},
        "target": "billing",
        "payload": {"ledger": 7},
        "tags": {"team": "payments"},
        "window": "30m",
        "paused": True,
    }


def test_a_job_may_name_an_url_instead_of_a_target(stage: Stage):
    stage.answer("POST", "/v1/jobs", JOB, 201)
    stage.run("jobs", "create", "--every", "5s", "--url", "https://example.com/ring")
    assert stage.sent() == {"schedule": {"every": "5s"}, "target": {"http": {"url": "https://example.com/ring"}}}


def test_a_job_is_created_from_standard_input(stage: Stage):
    stage.answer("POST", "/v1/jobs", JOB, 201)
    body = {"schedule": {"every": "5s"}, "target": "billing"}
    assert stage.run("jobs", "create", "--file", "-", stdin=json.dumps(body)).exit_code == 0
    assert stage.sent() == body


@pytest.mark.parametrize(
    "arguments",
    [
        ("--every", "5s"),
        ("--target", "billing"),
        ("--every", "5s", "--target", "t", "--payload", "{"),
        ("--every", "5s", "--target", "t", "--tag", "team"),
        ("--file", "/nonexistent"),
    ],
)
def test_wrong_usage_is_status_2_and_asks_nothing(stage: Stage, arguments: tuple[str, ...]):
    assert stage.run("jobs", "create", *arguments).exit_code == 2
    assert stage.seen == []


def test_a_job_is_found_by_its_name(stage: Stage):
    stage.answer("GET", "/v1/jobs", {"items": [JOB], "next_cursor": None})
    stage.answer("POST", "/v1/jobs/job_01/pause", JOB)
    stage.answer("GET", "/v1/jobs/job_01", JOB)
    assert stage.run("jobs", "pause", "nightly", "--note", "quiet").exit_code == 0
    assert stage.sent() == {"note": "quiet"}


def test_a_name_that_no_job_has_is_an_error(stage: Stage):
    stage.answer("GET", "/v1/jobs", {"items": [], "next_cursor": None})
    result = stage.run("jobs", "show", "nothing")
    assert isinstance(result.exception, ClientError)
    assert "'nothing'" in str(result.exception)


def test_trigger_sends_a_payload_of_its_own(stage: Stage):
    stage.answer("POST", "/v1/jobs/job_01/trigger", RUN, 202)
    result = stage.run("jobs", "trigger", "job_01", "--payload", "null")
    assert stage.sent() == {"payload": None}
    assert result.output.strip() == "run_01 dead"


def test_skip_next_shows_what_comes_instead(stage: Stage):
    stage.answer("POST", "/v1/jobs/job_01/skip-next", JOB)
    result = stage.run("jobs", "skip-next", "job_01")
    assert (result.exit_code, stage.sent()) == (0, {})
    assert JOB["next_run_at"] in result.output


def test_resume_and_delete(stage: Stage):
    stage.answer("POST", "/v1/jobs/job_01/resume", JOB)
    stage.replies[("DELETE", "/v1/jobs/job_01")] = httpx.Response(204)
    assert stage.run("jobs", "resume", "job_01", "--missed", "catch_up").exit_code == 0
    assert stage.sent() == {"missed": "catch_up"}
    assert stage.run("jobs", "delete", "job_01").output.strip() == "job_01 deleted"


def test_one_job_is_deleted_as_it_is_named_and_several_after_a_question_with_their_number(stage: Stage):
    deleted: list[str] = []
    stage.handlers["DELETE"] = lambda request: (deleted.append(request.url.path[-6:]), httpx.Response(204))[1]

    refused = stage.run("jobs", "delete", "job_01", "job_02", "job_01", stdin="n\n")
    assert (refused.exit_code, deleted) == (1, [])
    assert "Delete 2 jobs: job_01, job_02?" in refused.stderr
    assert stage.run("jobs", "delete", "job_01", "job_02", stdin="").exit_code == 1
    assert deleted == []

    assert stage.run("jobs", "delete", "job_01", "job_02", "--yes").output == "job_01 deleted\njob_02 deleted\n"
    assert stage.run("jobs", "delete", "job_03").exit_code == 0
    assert deleted == ["job_01", "job_02", "job_03"]


def test_of_jobs_of_which_one_is_unknown_none_is_deleted(stage: Stage):
    stage.answer("GET", "/v1/jobs", {"items": [], "next_cursor": None})

    refused = stage.run("jobs", "delete", "job_01", "nightly", "--yes")

    assert refused.exit_code == 1
    assert [request.method for request in stage.seen] == ["GET"]


def test_a_run_is_shown_with_its_attempts(stage: Stage):
    stage.answer("GET", "/v1/runs/run_01", RUN)
    output = stage.run("runs", "show", "run_01").output
    assert "7 ms" in output
    assert "the target answered 503" in output


def test_runs_of_one_job_by_name(stage: Stage):
    stage.answer("GET", "/v1/jobs", {"items": [JOB], "next_cursor": None})
    stage.answer("GET", "/v1/jobs/job_01", JOB)
    stage.answer("GET", "/v1/runs", {"items": [RUN], "next_cursor": None})
    assert "run_01" in stage.run("runs", "list", "--job", "nightly").output
    assert stage.seen[-1].url.params["job"] == "job_01"


def test_runs_of_all_jobs_say_what_each_is_called_and_ask_once_a_job(stage: Stage):
    unnamed, gone = {**RUN, "id": "run_03", "job_id": "job_02"}, {**RUN, "id": "run_04", "job_id": "job_03"}
    page = {"items": [RUN, {**RUN, "id": "run_02"}, unnamed, gone], "next_cursor": None}
    stage.answer("GET", "/v1/runs", page)
    stage.answer("GET", "/v1/jobs/job_01", JOB)
    stage.answer("GET", "/v1/jobs/job_02", {**JOB, "id": "job_02", "name": None})
    stage.answer("GET", "/v1/jobs/job_03", {"status": 404, "type": "x", "detail": "no such job"}, 404)

    heading, *rows = stage.run("runs", "list").output.splitlines()

    assert heading.split()[:2] == ["ID", "JOB"]
    assert [row.split()[:2] for row in rows] == [
        ["run_01", "nightly"], ["run_02", "nightly"], ["run_03", "job_02"], ["run_04", "job_03"],
    ]  # fmt: skip
    assert len(stage.seen) == 4
    assert json.loads(stage.run("runs", "list", "--json").output) == page
    assert len(stage.seen) == 5


def test_one_half_of_the_connection_is_not_enough(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOURBELL_URL", "https://hourbell.example")
    monkeypatch.delenv("HOURBELL_API_KEY", raising=False)
    with pytest.raises(ClientError, match="HOURBELL_API_KEY is not set"):
        connection.connect()


def test_a_refusal_is_one_line_and_status_1(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    problem = {"status": 400, "errors": [{"field": "schedule.timezone", "detail": "is not a zone"}]}
    stage.answer("POST", "/v1/jobs", problem, 400)
    monkeypatch.setattr("sys.argv", ["hourbell", "jobs", "create", "--at", "x", "--timezone", "y", "--target", "t"])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == "hourbell: schedule.timezone: is not a zone\n"


@pytest.mark.parametrize(("command", "state"), [("retry", "queued"), ("cancel", "cancelled")])
def test_a_run_is_started_over_or_cancelled(stage: Stage, command: str, state: str):
    run = {**RUN, "state": state}
    stage.answer("POST", f"/v1/runs/run_01/{command}", run)
    assert stage.run("runs", command, "run_01").output.strip() == f"run_01 {state}"
    assert json.loads(stage.run("runs", command, "run_01", "--json").output) == run


BACKFILL = {
    "dry_run": True,
    "runs": 1,
    "existing": 2,
    "occurrences": [{"scheduled_for": "2026-11-29T12:00:00.000Z", "run_id": "run_01", "existing": None}],
}
SPAN = ("--from", "2026-11-29T12:00:00Z", "--to", "2026-11-30T12:00:00Z")


def test_a_backfill_tells_its_counts_before_it_starts(stage: Stage):
    stage.answer("POST", "/v1/jobs/job_01/backfill", BACKFILL)
    refused = stage.run("jobs", "backfill", "job_01", *SPAN, stdin="n\n")
    assert refused.exit_code == 1
    assert "Start 1 run (2 occurrences with a run already)?" in refused.output
    assert [json.loads(request.content)["dry_run"] for request in stage.seen] == [True]

    assert stage.run("jobs", "backfill", "job_01", *SPAN, stdin="y\n").exit_code == 0
    assert stage.sent() == {"from": SPAN[1], "to": SPAN[3], "dry_run": False}


def test_a_dry_run_of_a_backfill_shows_what_would_run(stage: Stage):
    stage.answer("POST", "/v1/jobs/job_01/backfill", BACKFILL)
    result = stage.run("jobs", "backfill", "job_01", *SPAN, "--dry-run")
    assert "would run" in result.output
    assert len(stage.seen) == 1


def test_stats_say_what_is_not_well(stage: Stage):
    stats = {
        "at": "2026-11-29T12:00:00.000Z",
        "jobs": {"active": 100_000, "paused": 0, "completed": 0, "capped": True},
        "oldest_due_age_ms": 90_500,
        "runs": {"since": "2026-11-29T11:00:00.000Z", "succeeded": 1, "dead": 2, "capped": False},
        "lateness_ms": {"p50": 7, "p95": 1200, "p99": None},
        "queues": {"shared": 3, "solo": 0, "pull": 0},
        "cold": {"hours": [{"hour": "2027-01-01T00:00:00.000Z", "jobs": 4_000}], "capped": True},
    }
    stage.answer("GET", "/v1/stats", stats)
    output = stage.run("stats").output
    for said in (
        "100,000 active (not all were counted)",
        "overdue for 90.5 s",
        "2 dead",
        "p95 1,200 ms",
        "3 shared",
        "4,000 jobs in",
    ):
        assert said in output
    assert json.loads(stage.run("stats", "--json").output) == stats


def command_fails(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> object:
    monkeypatch.setattr("sys.argv", ["hourbell", *arguments])
    with pytest.raises(SystemExit) as ended:
        main.main()
    return ended.value.code


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("jobs", "list", "--nope"), "No such option: --nope (hourbell jobs list --help)"),
        (("jobs", "show"), "Missing argument 'JOB' (hourbell jobs show --help)"),
        (("keys", "rotate", "ci"), "not its name; hourbell keys list shows both (hourbell keys rotate --help)"),
        (("jobs", "list", "--tier", "warm"), "'warm' is not one of 'hot', 'cold' (hourbell jobs list --help)"),
        (
            ("jobs", "create"),
            "a schedule (--cron, --every or --at) and a --target or --url (hourbell jobs create --help)",
        ),
        (("jobs", "create", "--every", "5s"), "a job needs a --target or --url (hourbell jobs create --help)"),
        (("jobs", "create", "--every", "10"), "Invalid value for '--every': '10' is not a duration; write"),
        (("jobs", "create", "--cron", "61 * * * *"), "Invalid value for '--cron': minute 61 is outside 0-59"),
        (("jobs", "edit", "beat", "--timeout", "soon"), "Invalid value for '--timeout': 'soon' is not a duration"),
        (("jobs", "edit", "beat", "--window", "1 h"), "Invalid value for '--window': '1 h' is not a duration"),
        (("import", "crontab", "/nowhere", "--target", "t"), "/nowhere: No such file or directory"),
    ],
)
def test_wrong_usage_is_one_line_that_names_the_help_and_status_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
):
    assert command_fails(monkeypatch, *arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.startswith("hourbell: ")
    assert error.count("\n") == 1


def test_commands_alone_show_their_help_and_complain_of_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    assert command_fails(monkeypatch, "jobs") == 2
    printed = capsys.readouterr()
    assert "skip-next" in printed.out
    assert printed.err == ""


def test_a_key_that_is_not_known_says_how_to_give_another(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    stage.answer("GET", "/v1/jobs", {"status": 401, "detail": "a valid API key is needed"}, 401)
    assert command_fails(monkeypatch, "jobs", "list") == 1
    error = capsys.readouterr().err
    assert error == "hourbell: a valid API key is needed; hourbell login, or set HOURBELL_URL and HOURBELL_API_KEY\n"


def test_the_url_of_a_cloud_that_was_restarted_says_where_the_new_one_is(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    stage.answer("GET", "/v1/jobs", {"message": "Not Found"}, 404)
    assert command_fails(monkeypatch, "jobs", "list") == 1
    error = capsys.readouterr().err
    assert error.startswith("hourbell: Not Found: no Hourbell answers at this URL")
    assert "make status" in error


def test_a_cloud_that_is_down_says_how_to_look_for_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def connect() -> None:
        raise UnreachableError("No answer from http://127.0.0.1:1: refused")

    monkeypatch.setattr("hourbell.cli.jobs.connect", connect)
    assert command_fails(monkeypatch, "jobs", "list") == 1
    error = capsys.readouterr().err
    assert error.startswith("hourbell: No answer from http://127.0.0.1:1: refused: is the URL right")
    assert "make status" in error


def test_what_a_library_says_on_many_lines_is_said_on_one(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    stage.answer("GET", "/v1/jobs", {"status": 500, "detail": "refused\n\tIs the server running?"}, 500)
    assert command_fails(monkeypatch, "jobs", "list") == 1
    assert capsys.readouterr().err == "hourbell: refused Is the server running?\n"


def test_lanes_without_an_aws_region_are_one_line_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    assert command_fails(monkeypatch, "lanes", "show", "--stage", "prod") == 1
    error = capsys.readouterr().err
    assert error.startswith("hourbell: The lanes of stage prod cannot be seen: You must specify a region")
    assert error.count("\n") == 1


def test_jobs_are_searched_by_words_and_by_how_their_names_begin(stage: Stage):
    stage.answer("GET", "/v1/jobs", {"items": [JOB], "next_cursor": None})
    stage.run("jobs", "list", "--q", "pay night", "--name-prefix", "eu-")
    assert (stage.seen[0].url.params["q"], stage.seen[0].url.params["name_prefix"]) == ("pay night", "eu-")


def test_a_tag_is_looked_for_as_it_was_given(stage: Stage):
    stage.answer("GET", "/v1/jobs", {"items": [], "next_cursor": None})
    stage.run("jobs", "list", "--tag", "team=payments", "--tag", "at:10:30")
    assert stage.seen[0].url.params.get_list("tag") == ["team:payments", "at:10:30"]
    assert stage.run("jobs", "list", "--tag", "team").exit_code == 2


def test_runs_are_listed_of_a_span(stage: Stage):
    stage.answer("GET", "/v1/runs", {"items": [], "next_cursor": None})
    stage.run("runs", "list", "--state", "dead", "--from", "2026-11-01T00:00:00Z", "--to", "2026-11-02T00:00:00Z")
    params = stage.seen[0].url.params
    asked = (params["state"], params["from"], params["to"])
    assert asked == ("dead", "2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z")


@pytest.mark.parametrize("command", [("jobs", "list"), ("runs", "list"), ("runs", "tail"), ("targets", "list")])
def test_a_state_that_is_none_is_wrong_usage_and_the_shell_completes_the_others(stage: Stage, command: tuple[str, ...]):
    refused = stage.run(*command, "--state", "bogus")
    assert (refused.exit_code, stage.seen) == (2, [])
    words = " ".join(("hourbell", *command, "--state", ""))
    completed = CliRunner().invoke(
        main.app,
        prog_name="hourbell",
        env={"_HOURBELL_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(command) + 2)},
    )
    assert {"active", "paused"} <= set(completed.output.split()) or "dead" in completed.output.split()


def test_when_a_job_rings_next_and_when_it_did_not(stage: Stage):
    stage.answer("GET", "/v1/jobs", {"items": [JOB], "next_cursor": None})
    stage.answer("GET", "/v1/jobs/job_01", JOB)
    local, utc = "2027-03-14T03:00:00.000-04:00", "2027-03-14T07:00:00.000Z"
    occurrence = {"scheduled_for": utc, "local": local, "note": "shifted by the clock change"}
    stage.answer("GET", "/v1/jobs/job_01/upcoming", {"description": "At 02:30 AM", "occurrences": [occurrence]})
    shown = stage.run("jobs", "upcoming", "nightly", "--count", "1").output
    assert all(text in shown for text in ("At 02:30 AM", local, utc, "shifted by the clock change"))
    stretch = {
        "first_scheduled_for": utc,
        "last_scheduled_for": utc,
        "occurrences": 1_000,
        "reason": "outage",
        "recorded_at": utc,
    }
    stage.answer("GET", "/v1/jobs/job_01/missed", {"items": [stretch], "next_cursor": "more"})
    shown = stage.run("jobs", "missed", "job_01").output
    assert "1,000" in shown
    assert "More: --cursor more" in shown
