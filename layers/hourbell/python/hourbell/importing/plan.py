"""What an import would do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hourbell.domain.errors import HourbellError
from hourbell.domain.schedule import parse_schedule


class ImportRefusedError(HourbellError):
    """One schedule cannot become a job; the message says why."""


class OverError(ImportRefusedError):
    """One schedule has no time left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTarget:
    """A target that jobs need: its name, the member of its kind, and what that says."""

    name: str
    kind: str
    config: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedJob:
    """A job as the API takes it; always with a name, by which a second import finds it. ``source``: where it stood."""

    source: str
    definition: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The job's name."""
        return str(self.definition["name"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """What cannot become a job, as it is written there, and why."""

    source: str
    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An import before it is carried out.

    ``refused``: what should become jobs and cannot. ``over``: what has nothing left to do. ``notes``: true of all.
    """

    jobs: tuple[ImportedJob, ...]
    refused: tuple[Refused, ...] = ()
    over: tuple[Refused, ...] = ()
    targets: tuple[ImportedTarget, ...] = ()
    notes: tuple[str, ...] = field(default=())


def check_schedule(schedule: Mapping[str, Any], *, now: datetime) -> None:
    """Hold a schedule against Hourbell's own rules, as the API will.

    Raises:
        ImportRefusedError: it never rings, or is not accepted.
    """
    try:
        parse_schedule(schedule, now=now)
    except HourbellError as error:
        raise ImportRefusedError(" ".join(str(error).split())) from error
