"""The laptop's cloud, deployed: calling ``up`` again, every sample event, and the demonstration itself."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from hourbell.api.console_page import PAGE
from hourbell.cli import main
from hourbell.client import Client
from hourbell.local import cloud
from hourbell.local.project import Project, StateDirectory
from hourbell.local.state import Cloud, CloudRecord
from typer.testing import CliRunner, Result

pytestmark = pytest.mark.end_to_end
EVENTS = Path(__file__).resolve().parents[2] / "events"


@pytest.fixture
def hourbell(local_cloud: Cloud, local_state: StateDirectory, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOURBELL_STATE", str(local_state.path))
    monkeypatch.delenv("HOURBELL_URL", raising=False)
    monkeypatch.delenv("HOURBELL_API_KEY", raising=False)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main.app, list(arguments))

    return run


def test_up_again_changes_nothing(local_cloud: Cloud, local_state: StateDirectory):
    before = CloudRecord.read(local_state)
    assert cloud.up(Project.find(), local_state) == local_cloud
    assert CloudRecord.read(local_state) == before


def test_status_shows_where_it_answers(hourbell, local_cloud: Cloud):
    result = hourbell("status")
    assert result.exit_code == 0
    assert local_cloud.url in result.output


def test_the_console_needs_no_key_to_load(local_cloud: Cloud):
    page = httpx.get(f"{local_cloud.url}/console", trust_env=False)
    assert page.status_code == 200
    assert page.headers["content-encoding"] == "gzip"
    assert "script-src 'sha256-" in page.headers["content-security-policy"]
    assert page.text == PAGE


def test_the_command_line_finds_the_local_cloud_by_itself(hourbell):
    assert hourbell("jobs", "list", "--limit", "1").exit_code == 0


@pytest.mark.parametrize("event", sorted(EVENTS.glob("*.json")), ids=lambda event: event.stem)
def test_every_sample_event_is_understood_by_its_function(hourbell, event: Path):
    result = hourbell("invoke", event.stem, str(event))
    assert result.exit_code == 0, result.exception
    reply = json.loads(result.stdout)
    if event.stem == "worker":
        # the run does not exist: nothing to deliver again
        assert reply == {"batchItemFailures": []}
    if event.stem == "api":
        assert reply["statusCode"] == 200


def test_a_function_that_does_not_exist_is_one_line(hourbell):
    result = hourbell("invoke", "nothing", str(EVENTS / "reaper.json"))
    assert (
        str(result.exception) == "There is no function 'nothing' in the local cloud: hourbell invoke --help names them."
    )


def test_the_demonstration_rings_every_bell_once_and_in_time(hourbell, local_cloud: Cloud):
    result = hourbell("demo")
    assert result.exit_code == 0, result.output
    assert "Every run rang, once, within a second." in result.output
    with Client(local_cloud.url, local_cloud.api_key) as client:
        left = client.list_jobs(tag="demo:yes", state="active")
        targets = [target["name"] for target in client.iter_targets()]
    assert left["items"] == []
    assert not [name for name in targets if name.startswith("demo-")]
