"""What the environment tells each kind of function; read once per execution environment.

Each dataclass names exactly the variables its functions get: the infrastructure tests hold
``variables()`` against the deployed environment.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Self

PREFIX = "HOURBELL_"


class SettingsError(Exception):
    """The environment of this function is incomplete or wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What every function gets.

    ``database`` is a libpq connection string without a password; ``database_auth`` says where the
    password comes from: ``iam`` (a signed token), ``secret`` (Secrets Manager, named by
    ``HOURBELL_DATABASE_SECRET``) or ``none``.
    """

    stage: str
    database: str
    database_auth: str

    @classmethod
    def variables(cls) -> frozenset[str]:
        """The names of the environment variables this kind of function reads."""
        return frozenset(PREFIX + field.name.upper() for field in fields(cls))

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
        for field in fields(cls):
            name = PREFIX + field.name.upper()
            try:
                values[field.name] = _PARSERS.get(str(field.type), str)(env[name])
            except ValueError as error:
                raise SettingsError(f"{name}: {error}") from error
        return cls(**values)  # type: ignore[arg-type]


def _parse_private_targets(text: str) -> bool:
    if text not in ("allow", "refuse"):
        raise ValueError(f"must be 'allow' or 'refuse', not {text!r}")
    return text == "allow"


_PARSERS: Mapping[str, Callable[[str], object]] = {"int": int, "float": float, "bool": _parse_private_targets}


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneSettings(Settings):
    """What every function that sends to the lanes gets besides."""

    lane_shared_url: str
    lane_solo_url: str
    hold_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannerSettings(LaneSettings):
    """Scanner and reaper."""

    horizon_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings(LaneSettings):
    """The HTTP API."""

    horizon_seconds: float
    cell: int
    signing_secret: str
    private_targets: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings(LaneSettings):
    """A worker of one lane."""

    lane: str
    signing_secret: str
    private_targets: bool


class AuthorizerSettings(Settings):
    """The Lambda authorizer."""

    __slots__ = ()


class SchemaSettings(Settings):
    """Partitioner and replanner: the database, and nothing else."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MigratorSettings(Settings):
    """The migrator. ``first_key_secret`` names what the first API key is made of (``services.first_key``)."""

    first_key_secret: str
