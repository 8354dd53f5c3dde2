"""Where things lie: the checkout, what ``make install`` put into it, and the state of one local cloud."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hourbell.local.errors import LocalCloudError

# Everything of the local cloud listens here and nowhere else.
HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A checkout with its installed tools."""

    root: Path

    @classmethod
    def find(cls) -> Project:
        """The checkout that this package was installed from.

        Raises:
            LocalCloudError: the package is not installed from a checkout, so there is nothing to deploy.
        """
        root = Path(__file__).resolve().parents[5]
        if not (root / "cdk").is_dir() or not (root / "functions").is_dir():
            raise LocalCloudError(
                "The local cloud runs from a checkout of Hourbell (make install, then make up): "
                f"there are no stacks to deploy in {root}."
            )
        return cls(root=root)

    @property
    def venv_bin(self) -> Path:
        """Programs of the project's own environment (python, node, npm)."""
        return self.root / ".venv" / "bin"

    @property
    def tools(self) -> Path:
        """What ``make install`` adds besides the environment, and what builds leave behind."""
        return self.root / ".hourbell"

    @property
    def emulator_python(self) -> Path:
        """The interpreter that runs the emulator and, through it, the Lambdas."""
        return self._installed(self.tools / "emulator" / "bin" / "python")

    @property
    def cdk_cli(self) -> Path:
        """The CDK command line, to be run with node."""
        return self._installed(self.tools / "node" / "node_modules" / "aws-cdk" / "bin" / "cdk")

    @staticmethod
    def _installed(path: Path) -> Path:
        if not path.exists():
            raise LocalCloudError(f"{path} is missing: run `make install` first.")
        return path


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDirectory:
    """The files of one local cloud. Two clouds with two directories know nothing of each other."""

    path: Path

    @classmethod
    def of(cls, project: Project) -> StateDirectory:
        """The checkout's own cloud, or the one that ``HOURBELL_STATE`` names."""
        named = os.environ.get("HOURBELL_STATE")
        return cls(path=Path(named).resolve() if named else project.tools)

    @property
    def record(self) -> Path:
        """What runs, where, and the key to it."""
        return self.path / "cloud.json"

    @property
    def lock(self) -> Path:
        """Held while the cloud is brought up or down."""
        return self.path / "cloud.lock"

    @property
    def database(self) -> Path:
        """The PostgreSQL cluster's data."""
        return self.path / "postgres"

    @property
    def scratch(self) -> Path:
        """The emulator's temporary files: unpacked functions and layers. Emptied at each start."""
        return self.path / "emulator-tmp"

    @property
    def objects(self) -> Path:
        """What the emulator's S3 keeps on disk: the cold tier, which belongs to the database."""
        return self.path / "s3"

    @property
    def assembly(self) -> Path:
        """The synthesised stacks."""
        return self.path / "cdk.out.local"

    @property
    def logs(self) -> Path:
        """Logs of what runs in the background."""
        return self.path / "logs"

    @property
    def sockets(self) -> Path:
        """A short directory for the Unix socket, whose path may have 107 bytes at most (sun_path, unix(7)).

        Derived from the state directory, so that the same cloud always finds its own.
        """
        name = hashlib.sha256(str(self.path).encode()).hexdigest()[:12]
        return Path(tempfile.gettempdir()) / f"hourbell-{name}"
