"""A bar over many things, where somebody looks at a terminal and where there are many."""

from __future__ import annotations

import io
import json
from pathlib import Path

import httpx
import pytest
from hourbell.cli import progress
from hourbell.cli.output import console, print_error
from hourbell.cli.progress import FEW, tracked
from hourbell.client import Client
from hourbell.importing.carry_out import carry_out
from hourbell.importing.crontab import CrontabOptions, read_crontab
from rich.console import Console

from tests.seeds import T0
from tests.unit.cli.conftest import JOB, Stage


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a person would see on the second stream."""
    screen = io.StringIO()
    monkeypatch.setattr(
        progress, "console", lambda **_: Console(file=screen, force_terminal=True, width=100, highlight=False)
    )
    return screen


def test_many_things_have_a_bar_that_comes_to_its_end(terminal: io.StringIO):
    assert list(tracked(range(FEW + 1), "Applying")) == list(range(FEW + 1))
    assert "Applying" in terminal.getvalue()
    assert "100%" in terminal.getvalue()


def test_a_few_things_have_none(terminal: io.StringIO):
    assert list(tracked(range(FEW), "Applying")) == list(range(FEW))
    assert terminal.getvalue() == ""


def test_a_pipe_sees_none(capfd: pytest.CaptureFixture[str]):
    assert list(tracked(range(FEW + 1), "Applying")) == list(range(FEW + 1))
    assert capfd.readouterr() == ("", "")


def test_an_error_stands_on_a_line_of_its_own_above_the_bar(terminal: io.StringIO):
    for number in tracked(range(FEW + 1), "Applying"):
        if number == 3:
            print_error("job-3: is unknown")

    (line,) = (line for line in terminal.getvalue().splitlines() if "job-3" in line)
    assert "Applying" not in line
    assert console(stderr=True).is_terminal is False


def declaring(request: httpx.Request) -> httpx.Response:
    planned = request.url.params.get("dry_run") == "true"
    return httpx.Response(200, json={"action": "create", "changes": []} if planned else JOB)


def test_applying_many_jobs_shows_how_far_it_came(terminal: io.StringIO, stage: Stage, tmp_path: Path):
    stage.handlers["PUT"] = declaring
    jobs = [{"name": f"job-{n}", "schedule": {"every": "1h"}, "target": "billing"} for n in range(FEW + 1)]
    file = tmp_path / "jobs.json"
    file.write_text(json.dumps(jobs), encoding="utf-8")

    result = stage.run("jobs", "apply", "-f", str(file))

    assert result.exit_code == 0, result.output
    assert all(what in terminal.getvalue() for what in ("Comparing", "Applying", "100%"))
    assert "21 create" in result.stdout


def test_importing_many_jobs_shows_how_far_it_came(terminal: io.StringIO):
    options = CrontabOptions(target="shell", timezone="UTC", system=False, tags={}, prefix="crontab")
    plan = read_crontab("".join(f"{n} * * * * backup {n}\n" for n in range(FEW + 1)), options, now=T0)

    with Client("http://api.test", "hb_live_x", transport=httpx.MockTransport(declaring)) as client:
        steps = carry_out(client, plan, track=tracked)

    assert [step.action for step in steps] == ["create"] * (FEW + 1)
    assert all(what in terminal.getvalue() for what in ("Comparing", "Importing", "100%"))
