"""What a use case refuses because of what is there, not because of what was said."""

from __future__ import annotations

from collections.abc import Collection

from hourbell.domain.errors import HourbellError


class NotFoundError(HourbellError):
    """The tenant has nothing with this id. Another tenant's id is no different."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"no such {kind}")
        self.kind = kind


class VersionError(HourbellError):
    """The thing is no longer the version that the caller has seen."""


class StateError(HourbellError):
    """The thing is in a state in which this cannot be done."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class OldSecretError(HourbellError):
    """The key that asks was rotated, and this is its old secret, which manages no keys: use the new one."""


class LeaseLostError(HourbellError):
    """The lease token is not the run's: it ended, was taken over, or never was. Stop working on it."""


class QuotaError(HourbellError):
    """The tenant has, or asks for, more than it may have. ``quota``: which one.

    ``retry_after_seconds``: when the same request passes; None: not before something else makes room.
    """

    def __init__(self, quota: str, detail: str, *, retry_after_seconds: int | None = None) -> None:
        super().__init__(f"{quota}: {detail}")
        self.quota = quota
        self.detail = detail
        self.retry_after_seconds = retry_after_seconds


def check_version(version: int, expected: Collection[int] | None) -> None:
    """Pass when the caller expects nothing, or expects this version.

    Raises:
        VersionError: the thing was changed since the caller read it.
    """
    if expected is not None and version not in expected:
        raise VersionError(f"is at version {version}")
