"""What is remembered of a local cloud between commands, in ``cloud.json``, for this user's eyes only."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from hourbell.local.errors import LocalCloudError
from hourbell.local.processes import ProcessRecord
from hourbell.local.project import HOST, StateDirectory

EMULATOR = "emulator"
POSTGRES = "postgres"


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudRecord:
    """One local cloud.

    Attributes:
        ready: the deployment was finished; False while it is brought up, and after a crash in between.
        database: libpq connection string of its superuser.
        pids: the processes that run in the background, by role; empty when the cloud is down.
        outputs: what the stacks gave out.
    """

    ready: bool = False
    url: str | None = None
    api_key: str | None = None
    database: str | None = None
    emulator_port: int | None = None
    inputs: str | None = None
    pids: Mapping[str, ProcessRecord] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_up(self) -> bool:
        """Whether it was brought up wholly and everything still runs."""
        return self.ready and not self.missing()

    def missing(self) -> list[str]:
        """The roles whose process is not running."""
        return [role for role in (POSTGRES, EMULATOR) if role not in self.pids or self.pids[role].find() is None]

    @classmethod
    def read(cls, state: StateDirectory) -> CloudRecord | None:
        """What was written last; None when nothing was, or when it cannot be read (a crash, another version)."""
        try:
            fields = json.loads(state.record.read_text(encoding="utf-8"))
            fields["pids"] = {role: ProcessRecord(**process) for role, process in fields["pids"].items()}
            return cls(**fields)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None

    def write(self, state: StateDirectory) -> None:
        """Replace the record in one step, so that nobody reads half of it."""
        state.path.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.to_json(), indent=2)
        unfinished = state.record.with_suffix(f".{os.getpid()}")
        with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        unfinished.replace(state.record)

    def to_json(self) -> dict[str, Any]:
        """The record as it stands in the file."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """A running local cloud.

    Attributes:
        url: the API's address, without ``/v1``.
        database: libpq connection string of the database's superuser.
        endpoint: where the emulated AWS services answer.
        outputs: what the stacks gave out.
    """

    url: str
    api_key: str
    database: str
    endpoint: str
    outputs: Mapping[str, str]

    @classmethod
    def of(cls, record: CloudRecord) -> Cloud:
        """The cloud that a complete record describes."""
        if record.url is None or record.api_key is None or record.database is None or record.emulator_port is None:
            raise LocalCloudError("The local cloud is not up: make up")
        endpoint = f"http://{HOST}:{record.emulator_port}"
        return cls(
            url=record.url,
            api_key=record.api_key,
            database=record.database,
            endpoint=endpoint,
            outputs=record.outputs,
        )


@contextlib.contextmanager
def locked(state: StateDirectory) -> Iterator[None]:
    """Let one command at a time bring this cloud up or down.

    Raises:
        LocalCloudError: another does so right now.
    """
    state.path.mkdir(parents=True, exist_ok=True)
    with state.lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LocalCloudError("Another command is bringing this local cloud up or down: wait for it.") from None
        yield
