"""What the environment tells each kind of function; read once per execution environment.

Each class names exactly the variables its functions get: the infrastructure tests hold ``variables()`` against the
deployed environment. They read as dataclasses do and are none: generating one for each kind of function would cost
every cold start 5 ms of CPU, for the one or two that it uses.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import NoReturn, Self, dataclass_transform

PREFIX = "HOURBELL_"


class SettingsError(Exception):
    """The environment of this function is incomplete or wrong."""


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Settings:
    """What every function gets.

    ``database`` is a libpq connection string without a password; ``database_auth`` says where the
    password comes from: ``iam`` (a signed token) or ``none``.
    """

    stage: str
    database: str
    database_auth: str

    def __init__(self, **values: object) -> None:
        vars(self).update(values)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"settings do not change: {name}")

    @classmethod
    def fields(cls) -> dict[str, str]:
        """The type of each setting, as it is written, by its name."""
        kinds = [vars(kind).get("__annotations__", {}) for kind in reversed(cls.__mro__)]
        return {name: str(type_) for kind in kinds for name, type_ in kind.items()}

    @classmethod
    def variables(cls) -> frozenset[str]:
        """The names of the environment variables this kind of function reads."""
        return frozenset(PREFIX + name.upper() for name in cls.fields())

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Self:
        """Read the settings.

        Raises:
            SettingsError: naming every variable that is missing, or the one that does not parse.
        """
        env = os.environ if environ is None else environ
        missing = sorted(name for name in cls.variables() if name not in env)
        if missing:
            raise SettingsError(f"missing in the environment: {', '.join(missing)}")
        values: dict[str, object] = {}
        for name, type_ in cls.fields().items():
            variable = PREFIX + name.upper()
            try:
                values[name] = _PARSERS.get(type_, str)(env[variable])
            except ValueError as error:
                raise SettingsError(f"{variable}: {error}") from error
        return cls(**values)


def _parse_private_targets(text: str) -> bool:
    if text not in ("allow", "refuse"):
        raise ValueError(f"must be 'allow' or 'refuse', not {text!r}")
    return text == "allow"


_PARSERS: Mapping[str, Callable[[str], object]] = {
    "int": int,
    "float": float,
    "bool": _parse_private_targets,
    "tuple[str, ...]": lambda text: tuple(text.split()),
}


class LaneSettings(Settings):
    """What every function that sends to the lanes gets besides."""

    lane_shared_url: str
    lane_solo_url: str
    hold_seconds: float


class ScannerSettings(LaneSettings):
    """The scanner, and what the reaper has of it."""

    horizon_seconds: float


class ReaperSettings(ScannerSettings):
    """The reaper. ``event_bus``: the name of the bus on which users hear of dead runs."""

    event_bus: str


class TargetSettings(LaneSettings):
    """What those who check or call targets get. ``allowed_targets``: ARN patterns, with blanks between them.

    ``lease_seconds``: how long whoever executes a run may be silent.
    """

    signing_secret: str
    private_targets: bool
    allowed_targets: tuple[str, ...]
    lease_seconds: float


class ApiSettings(TargetSettings):
    """The HTTP API."""

    horizon_seconds: float
    cell: int
    cold_bucket: str


class WorkerSettings(TargetSettings):
    """A worker of one lane. ``heartbeat_seconds``: how often it extends its leases.

    ``visibility_seconds``: how long the lane keeps a delivered message from other workers.
    """

    lane: str
    heartbeat_seconds: float
    visibility_seconds: float


class AuthorizerSettings(Settings):
    """The Lambda authorizer."""


class SchemaSettings(Settings):
    """Partitioner and replanner: the database, and nothing else."""


class ColdSettings(Settings):
    """Freezer and loader."""

    cold_bucket: str


class MigratorSettings(Settings):
    """The migrator, which logs in as the owner of the schema.

    ``administrator``: the connection string of who makes the roles, with the password in ``administrator_secret``;
    empty where somebody else does. ``first_key_secret`` names what the first API key is made of
    (``services.first_key``).
    """

    administrator: str
    administrator_secret: str
    first_key_secret: str
