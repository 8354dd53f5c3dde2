"""What is deployed, when it is synthesised again, and what a deployment leaves to be found after a crash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hourbell.local.deploy import Deployment, Toolchain, read_outputs, run
from hourbell.local.emulator import Emulator
from hourbell.local.errors import LocalCloudError
from hourbell.local.processes import MARK, ProcessRecord
from hourbell.local.progress import Silence
from hourbell.local.project import Project, StateDirectory

EMULATOR = Emulator(port=4566, process=ProcessRecord(pid=1, started=0.0))


class Desk:
    """A checkout whose CDK only writes down what it was asked."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = path / "checkout"
        for name in ("cdk/app.py", "functions/api/handler.py", ".hourbell/build/layers/local/hourbell.stamp"):
            self.write(name, "1")
        self.calls: list[tuple[list[str], dict[str, str]]] = []
        monkeypatch.setattr(Toolchain, "cdk", self._cdk)
        self.deployment = Deployment(
            project=Project(root=self.root),
            state=StateDirectory(path=path / "state"),
            database="host=/tmp user={role}",
        )
        self.deployment.state.path.mkdir()

    def write(self, name: str, text: str) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def deploy(self) -> list[str]:
        self.deployment.deploy(EMULATOR, Silence())
        return self.calls[-1][0]

    def _cdk(self, arguments: Any, progress: object, **environ: str) -> None:
        asked = [str(argument) for argument in arguments]
        self.calls.append((asked, environ))
        assembly = self.deployment.state.assembly
        assembly.mkdir(exist_ok=True)
        (assembly / "manifest.json").write_text("{}")
        Path(asked[asked.index("--outputs-file") + 1]).write_text(json.dumps({"Api": {"ApiUrl": "http://a"}}))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, monkeypatch)


def test_the_first_deployment_synthesises_the_app_for_this_database(desk: Desk):
    asked = " ".join(desk.deploy())
    assert "-m cdk.app" in asked
    assert "--context stage=local --context database=host=/tmp user={role}" in asked


def test_unchanged_stacks_are_not_synthesised_again(desk: Desk):
    desk.deploy()
    asked = desk.deploy()
    assert asked[asked.index("--app") + 1] == str(desk.deployment.state.assembly)


@pytest.mark.parametrize(
    "changed", ["cdk/app.py", "functions/api/handler.py", ".hourbell/build/layers/local/hourbell.stamp"]
)
def test_any_change_synthesises_them_again(desk: Desk, changed: str):
    desk.deploy()
    desk.write(changed, "2")
    assert "-m cdk.app" in " ".join(desk.deploy())


def test_the_cdk_talks_to_the_emulator_and_carries_the_clouds_mark(desk: Desk):
    desk.deploy()
    environ = desk.calls[-1][1]
    assert environ["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4566"
    assert environ[MARK] == str(desk.deployment.state.path)


def test_the_callers_aws_account_is_out_of_reach(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("CDK_DEFAULT_ACCOUNT", "123456789012")
    environ = Toolchain(project=desk.deployment.project).environ()
    assert not {"AWS_PROFILE", "CDK_DEFAULT_ACCOUNT"} & environ.keys()


def test_a_command_that_fails_is_explained_with_its_last_words(tmp_path: Path):
    with pytest.raises(LocalCloudError, match=r"status 3:\nbecause$"):
        run(["sh", "-c", "echo because; exit 3"], cwd=tmp_path, environ={"PATH": "/bin:/usr/bin"}, progress=Silence())


def test_outputs_of_all_stacks_are_read_as_one(tmp_path: Path):
    file = tmp_path / "outputs.json"
    file.write_text(json.dumps({"Data": {"A": "1"}, "Api": {"ApiUrl": "http://a"}}))
    assert read_outputs(file) == {"A": "1", "ApiUrl": "http://a"}
