"""``hourbell jobs apply``: what a file means, what is planned, and what is done."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from hourbell.cli.job_files import read_jobs
from hourbell.client import ClientError

from tests.unit.cli.conftest import JOB, Stage

FILE = """
jobs:
  - &base
    name: nightly
    schedule: {cron: "0 2 * * *", timezone: Europe/Paris}
    target: billing
  - <<: *base
    name: once
    schedule: {at: 2027-05-29T09:00:00Z}
    payload: {flag: yes, off: no, code: 010, at: 1:30, real: true, number: 7, share: 1.5, none: null}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.yaml"
    path.write_text(FILE, encoding="utf-8")
    return path


class Api:
    """Plans and declares by name."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.plans: dict[str, tuple[int, object]] = {}
        self.declared: list[str] = []
        stage.answer("GET", "/v1/jobs", {"items": [{**JOB, "name": "old", "id": "job_02"}], "next_cursor": None})
        stage.replies[("DELETE", "/v1/jobs/job_02")] = httpx.Response(204)
        stage.handlers["PUT"] = self._answer

    def _answer(self, request: httpx.Request) -> httpx.Response:
        name = json.loads(request.content)["name"]
        status, plan = self.plans[name]
        if request.url.params.get("dry_run") == "true" or status >= 400:
            return httpx.Response(status, json=plan)
        self.declared.append(name)
        return httpx.Response(status, json=JOB)

    def plan(self, name: str, action: str, *changes: str) -> None:
        self.plans[name] = (200, {"action": action, "changes": list(changes)})

    def refuse(self, name: str) -> None:
        self.plans[name] = (400, {"status": 400, "errors": [{"field": "target", "detail": "is unknown"}]})


@pytest.fixture
def api(stage: Stage) -> Api:
    made = Api(stage)
    made.plan("nightly", "update", "schedule", "payload")
    made.plan("once", "create")
    return made


def test_a_file_means_what_its_reader_thinks(file: Path):
    nightly, once = read_jobs(str(file))
    assert nightly.body["schedule"]["timezone"] == "Europe/Paris"
    assert once.body["target"] == "billing"
    assert once.body["schedule"] == {"at": "2027-05-29T09:00:00Z"}
    assert once.body["payload"] == {
        "flag": "yes", "off": "no", "code": "010", "at": "1:30", "real": True, "number": 7, "share": 1.5, "none": None,
    }  # fmt: skip


def test_json_is_taken_too(tmp_path: Path):
    (tmp_path / "jobs.json").write_text('[{"name": "\\ud83d\\ude00"}]', encoding="utf-8")
    assert read_jobs(str(tmp_path / "jobs.json"))[0].name == "😀"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[{name: a}, {name: a}]", "'a' is there 2 times"),
        ("[{schedule: {}}]", r"jobs\[0\] must be a job with a name"),
        ("[{name: a, name: b}]", "name is given twice"),
        ("nothing", "must hold a list"),
        ("[{", "jobs.yaml"),
    ],
)
def test_a_file_that_is_none_is_one_line(tmp_path: Path, text: str, said: str):
    (tmp_path / "jobs.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ClientError, match=said) as refused:
        read_jobs(str(tmp_path / "jobs.yaml"))
    assert "\n" not in str(refused.value)


def test_a_dry_run_shows_the_plan_and_changes_nothing(api: Api, file: Path):
    result = api.stage.run("jobs", "apply", "-f", str(file), "--dry-run")
    assert result.exit_code == 0
    assert "update    nightly (schedule, payload)" in result.output
    assert "create    once" in result.output
    assert "1 create, 1 update" in result.output
    assert api.declared == []


def test_only_what_differs_is_declared(api: Api, file: Path):
    api.plan("nightly", "unchanged")
    result = api.stage.run("jobs", "apply", "-f", str(file))
    assert (result.exit_code, api.declared) == (0, ["once"])


def test_as_long_as_one_is_refused_nothing_is_done(api: Api, file: Path):
    api.refuse("nightly")
    result = api.stage.run("jobs", "apply", "-f", str(file))
    assert result.exit_code == 1
    assert "hourbell: nightly: target: is unknown" in result.output
    assert api.declared == []


def test_pruning_asks_with_the_count_and_deletes_what_is_not_in_the_file(api: Api, file: Path):
    prune = ("jobs", "apply", "-f", str(file), "--prune", "--tag", "team=payments")
    refused = api.stage.run(*prune, stdin="n\n")
    assert refused.exit_code == 1
    assert "Delete 1 job: old?" in refused.output
    assert api.declared == []

    assert "prune     old" in api.stage.run(*prune, "--yes").output
    assert api.declared == ["nightly", "once"]
    assert (api.stage.seen[-1].method, api.stage.seen[-1].headers["if-match"]) == ("DELETE", '"1"')
    assert api.stage.seen[2].url.params["tag"] == "team:payments"


def test_pruning_without_a_tag_is_wrong_usage(api: Api, file: Path):
    assert api.stage.run("jobs", "apply", "-f", str(file), "--prune").exit_code == 2
