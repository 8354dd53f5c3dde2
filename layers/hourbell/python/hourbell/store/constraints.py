"""Promises that the database keeps: what a broken one means, by the constraint's name. Translated here alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from psycopg.errors import IntegrityError

from hourbell.domain.errors import HourbellError


class ConflictError(HourbellError):
    """The change contradicts what is already there; ``field`` is the one to change."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(f"{field}: {detail}")
        self.field = field
        self.detail = detail


_MEANINGS = {
    "job_name_key": ("name", "another job has this name"),
    "tenant_name_key": ("name", "another tenant has this name"),
    "target_name_key": ("name", "another target has this name"),
}


@contextmanager
def translated() -> Iterator[None]:
    """Raise ``ConflictError`` for the constraints that a caller can run into; others are bugs, and stay as they are."""
    try:
        yield
    except IntegrityError as error:
        meaning = _MEANINGS.get(error.diag.constraint_name or "")
        if meaning is None:
            raise
        raise ConflictError(*meaning) from None
