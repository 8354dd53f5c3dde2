"""A crontab, from the file to the runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hourbell.testing import Engine

from tests.integration.importing.conftest import Command, actions

CRONTAB = """\
MAILTO=ops@example.com
PATH=/usr/bin:/bin
CRON_TZ=Asia/Kolkata
0 2 * * *   /usr/local/bin/backup --all
30 9 * * 1-5 mail joe%Good morning%
"""


@pytest.fixture
def crontab(tmp_path: Path) -> str:
    path = tmp_path / "crontab"
    path.write_text(CRONTAB, encoding="utf-8")
    return str(path)


def test_every_line_rings_its_target_with_its_command(engine: Engine, command: Command, crontab: str):
    engine.add_target("agent", lambda call: None)
    assert actions(command("crontab", crontab, "--target", "agent", "--json")) == ["create", "create"]

    runs = engine.run_until("2027-05-10T12:00:00Z")

    assert [run["scheduled_for"] for run in runs] == ["2027-05-09T20:30:00.000Z", "2027-05-10T04:00:00.000Z"]
    assert [call.payload for call in engine.calls] == [
        {
            "command": "/usr/local/bin/backup --all",
            "stdin": None,
            "environment": {"PATH": "/usr/bin:/bin"},
            "user": None,
        },
        {"command": "mail joe", "stdin": "Good morning\n", "environment": {"PATH": "/usr/bin:/bin"}, "user": None},
    ]


def test_a_second_import_changes_only_what_has_changed(engine: Engine, command: Command, crontab: str):
    engine.add_target("agent", lambda call: None)
    imported = command("crontab", crontab, "--target", "agent", "--json")
    assert actions(imported) == ["create", "create"]
    Path(crontab).write_text(CRONTAB.replace("30 9", "0 10"), encoding="utf-8")
    assert actions(command("crontab", crontab, "--target", "agent", "--json")) == ["unchanged", "update"]
    assert actions(command("crontab", crontab, "--target", "agent", "--json")) == ["unchanged", "unchanged"]
    assert len(list(engine.client.iter_jobs())) == 2


def test_a_dry_run_tells_what_would_be_done_and_does_nothing(engine: Engine, command: Command, crontab: str):
    engine.add_target("agent", lambda call: None)
    assert actions(command("crontab", crontab, "--target", "agent", "--dry-run", "--json")) == ["create", "create"]
    assert list(engine.client.iter_jobs()) == []

    command("crontab", crontab, "--target", "agent")
    before = list(engine.client.iter_jobs())
    Path(crontab).write_text(CRONTAB.replace("30 9", "0 10"), encoding="utf-8")
    report = json.loads(command("crontab", crontab, "--target", "agent", "--dry-run", "--json").stdout)
    told = command("crontab", crontab, "--target", "agent", "--dry-run").stdout

    assert [(job["action"], job["changes"]) for job in report["jobs"]] == [("unchanged", []), ("update", ["schedule"])]
    assert f"update    {report['jobs'][1]['definition']['name']} (schedule)\n1 update, 1 unchanged\n" in told
    assert list(engine.client.iter_jobs()) == before


def test_an_import_tells_what_it_did_as_its_dry_run_told_it(engine: Engine, command: Command, crontab: str):
    engine.add_target("agent", lambda call: None)
    planned = command("crontab", crontab, "--target", "agent", "--dry-run")
    done = command("crontab", crontab, "--target", "agent")

    assert planned.stdout == done.stdout
    assert done.stdout.endswith("2 create\n")


def test_a_dry_run_tells_what_the_api_would_refuse(engine: Engine, command: Command, crontab: str):
    result = command("crontab", crontab, "--target", "agent", "--dry-run")

    assert result.exit_code == 1
    assert "no target is named" in result.stdout
    assert "2 refused" in result.stdout
    assert "No job is made, because the API refuses some." in result.stderr


def test_a_dry_run_without_an_api_shows_what_maps_and_says_so(command: Command, crontab: str, monkeypatch):
    monkeypatch.setenv("HOURBELL_URL", "https://hourbell.example")
    monkeypatch.delenv("HOURBELL_API_KEY", raising=False)

    shown = command("crontab", crontab, "--target", "agent", "--dry-run")
    report = command("crontab", crontab, "--target", "agent", "--dry-run", "--json")

    assert shown.exit_code == 0
    (said,) = [line for line in shown.stdout.splitlines() if "not compared" in line]
    assert said == (
        "note: not compared with the jobs that there are: "
        "HOURBELL_API_KEY is not set: HOURBELL_URL and HOURBELL_API_KEY go together."
    )
    assert actions(report) == ["-", "-"]


def test_nothing_is_made_as_long_as_a_line_cannot_be_read(engine: Engine, command: Command):
    engine.add_target("agent", lambda call: None)
    text = "0 1 * * * x\n@reboot y\n"
    result = command("crontab", "-", "--target", "agent", "--timezone", "UTC", stdin=text)
    assert result.exit_code == 1
    assert "@reboot is no time" in result.stdout
    assert "1 schedule cannot be imported; --skip-unreadable leaves them out" in result.stderr
    assert list(engine.client.iter_jobs()) == []

    result = command("crontab", "-", "--target", "agent", "--timezone", "UTC", "--skip-unreadable", stdin=text)
    assert result.exit_code == 0
    assert len(list(engine.client.iter_jobs())) == 1


def test_no_job_is_made_when_the_api_refuses_one(engine: Engine, command: Command, crontab: str):
    result = command("crontab", crontab, "--target", "nobody")
    assert result.exit_code == 1
    assert "target: " in result.stdout
    assert "No job was made, because the API refused some" in result.stderr
    assert list(engine.client.iter_jobs()) == []


def test_a_file_that_is_not_there_is_wrong_usage(command: Command):
    assert command("crontab", "/nowhere", "--target", "agent").exit_code == 2


def test_a_user_column_is_read_where_the_user_says_so(engine: Engine, command: Command):
    engine.add_target("agent", lambda call: None)
    options = ("--target", "agent", "--timezone", "UTC", "--system", "--tag", "team=ops", "--json")
    assert actions(command("crontab", "-", *options, stdin="0 1 * * * root x\n")) == ["create"]
    (job,) = engine.client.iter_jobs(tag="team:ops")
    assert job["payload"]["user"] == "root"


def test_the_machines_own_zone_is_that_of_a_crontab_without_one(engine: Engine, command: Command, monkeypatch):
    monkeypatch.setenv("TZ", "America/New_York")
    engine.add_target("agent", lambda call: None)
    assert actions(command("crontab", "-", "--target", "agent", "--json", stdin="0 1 * * * x\n")) == ["create"]
    (job,) = engine.client.iter_jobs()
    assert job["schedule"]["timezone"] == "America/New_York"
