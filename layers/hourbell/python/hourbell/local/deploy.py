"""The real deployment: layers built for this machine, then ``cdk deploy`` of stage ``local`` onto the emulator."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hourbell.local import aws
from hourbell.local.emulator import Emulator
from hourbell.local.errors import LocalCloudError
from hourbell.local.processes import MARK
from hourbell.local.progress import Progress, Silence
from hourbell.local.project import Project, StateDirectory

STAGE = "local"

# How much of a failed command's output is worth a look.
_TAIL_LINES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """The programs that build and deploy: the project's Python, the CDK command line and the Node it runs on."""

    project: Project

    def build_layers(self, target: str, progress: Progress) -> None:
        """Build what changed of the two Lambda layers."""
        self.run([self.python, "-m", "cdk.build_layers", "--target", target], progress)

    def cdk(self, arguments: Iterable[str | Path], progress: Progress, **environ: str) -> None:
        """Run the CDK command line in the checkout."""
        command = [self.node, self.project.cdk_cli, *arguments, "--ci", "--no-notices", "--no-color"]
        self.run(command, progress, **environ)

    def bootstrap_template(self, elsewhere: Path) -> str:
        """The template of ``cdk bootstrap``. Run elsewhere: in the checkout it would synthesise first."""
        command: list[str | Path] = [self.node, self.project.cdk_cli, "bootstrap", "--show-template"]
        return run(command, cwd=elsewhere, environ=self.environ(), progress=Silence())

    def run(self, command: Iterable[str | Path], progress: Progress, **environ: str) -> str:
        """Run a program in the checkout with these tools first on its path."""
        return run(command, cwd=self.project.root, environ={**self.environ(), **environ}, progress=progress)

    @property
    def python(self) -> Path:
        """The project's Python."""
        return self.project.venv_bin / "python"

    @property
    def node(self) -> Path:
        """The Node that a wheel brought."""
        return self.project.venv_bin / "node"

    def environ(self) -> dict[str, str]:
        """The caller's environment, less what would point an AWS client at a real account."""
        path = f"{self.project.venv_bin}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        return {
            **_without_aws(os.environ),
            "PATH": path,
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1",
            "NO_COLOR": "1",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """One deployment of the stacks.

    Args:
        database: libpq connection string with ``{role}`` in place of the database role.
    """

    project: Project
    state: StateDirectory
    database: str

    def build_layers(self, progress: Progress) -> None:
        """Build what changed of the two Lambda layers."""
        self._tools.build_layers(STAGE, progress)

    def inputs(self) -> str:
        """A fingerprint of everything the stacks are made of. Two equal ones deploy the same."""
        digest = hashlib.sha256(self.database.encode())
        for path in sorted(self._input_files()):
            digest.update(f"{path.relative_to(self.project.root)}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()

    def deploy(self, emulator: Emulator, progress: Progress) -> dict[str, str]:
        """Deploy all stacks and return their outputs, by name.

        The synthesised stacks are kept and used again while their inputs are the same.
        """
        inputs = self.inputs()
        stamp, assembly = self.state.path / "cdk.out.inputs", self.state.assembly
        outputs = self.state.path / "outputs.json"
        fresh = stamp.exists() and stamp.read_text() == inputs and (assembly / "manifest.json").exists()
        if not fresh:
            stamp.unlink(missing_ok=True)
            shutil.rmtree(assembly, ignore_errors=True)
        arguments = ["deploy", "--all", *self._app(fresh=fresh), "--outputs-file", outputs, *_DEPLOY]
        # Marked, so that it does not outlive this cloud should this process be killed.
        self._tools.cdk(arguments, progress, **emulator.environ(), **{MARK: str(self.state.path)})
        stamp.write_text(inputs)
        return read_outputs(outputs)

    def bootstrap(self, emulator: Emulator) -> None:
        """Prepare the emulator's account for CDK deployments with the very stack that ``cdk bootstrap`` makes.

        The command itself takes seconds to make it; its template, kept, takes half a second.
        """
        client = aws.cloudformation_client(emulator.endpoint)
        with contextlib.suppress(client.exceptions.AlreadyExistsException):
            client.create_stack(
                StackName="CDKToolkit", TemplateBody=self._bootstrap_template(), Capabilities=["CAPABILITY_NAMED_IAM"]
            )
        waiter = client.get_waiter("stack_create_complete")
        waiter.wait(StackName="CDKToolkit", WaiterConfig={"Delay": 1, "MaxAttempts": 60})

    def _bootstrap_template(self) -> str:
        version = hashlib.sha256((self.project.root / "package-lock.json").read_bytes()).hexdigest()[:12]
        kept = self.project.tools / "build" / f"bootstrap-{version}.yaml"
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            _replace_text(kept, self._tools.bootstrap_template(self.state.path))
        return kept.read_text(encoding="utf-8")

    def _app(self, *, fresh: bool) -> list[str | Path]:
        if fresh:
            return ["--app", self.state.assembly]
        context = ["--context", f"stage={STAGE}", "--context", f"database={self.database}"]
        return [
            "--app",
            f"{shlex.quote(str(self._tools.python))} -m cdk.app",
            "--output",
            self.state.assembly,
            *context,
        ]

    @property
    def _tools(self) -> Toolchain:
        return Toolchain(project=self.project)

    def _input_files(self) -> Iterator[Path]:
        root = self.project.root
        yield from (path for path in (root / "cdk.json",) if path.exists())
        yield from (path for path in (root / "cdk").rglob("*.py"))
        yield from (path for path in (root / "functions").rglob("*.py"))
        yield from (self.project.tools / "build" / "layers" / STAGE).glob("*.stamp")


_DEPLOY = ("--require-approval", "never", "--progress", "events", "--concurrency", "4")


def run(command: Iterable[str | Path], *, cwd: Path, environ: Mapping[str, str], progress: Progress) -> str:
    """Run a program to its end, each line of output being a sign of life; returns what it said.

    Raises:
        LocalCloudError: it failed; the message has the end of what it said.
    """
    arguments = [str(part) for part in command]
    said: list[str] = []
    with subprocess.Popen(
        arguments,
        cwd=cwd,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        for line in process.stdout or ():
            said.append(line)
            progress.detail(line.rstrip())
    if process.returncode != 0:
        name = " ".join(Path(part).name for part in arguments[:4])
        raise LocalCloudError(f"`{name} …` failed with status {process.returncode}:\n{''.join(said[-_TAIL_LINES:])}")
    return "".join(said)


def read_outputs(path: Path) -> dict[str, str]:
    """The outputs of all stacks in one."""
    stacks: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
    return {name: value for outputs in stacks.values() for name, value in outputs.items()}


def _without_aws(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment less whatever would point an AWS client at somebody's real account."""
    return {name: value for name, value in environ.items() if not name.startswith(("AWS_", "CDK_"))}


def _replace_text(path: Path, text: str) -> None:
    """Write a file in one step: nobody reads half of it, and two writers do not mix."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
