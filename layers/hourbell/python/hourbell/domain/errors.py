"""What the domain refuses, and why."""

from __future__ import annotations

from collections.abc import Iterable


class HourbellError(Exception):
    """The base of every error that Hourbell raises on purpose."""


class FieldError(HourbellError):
    """Bad input: `field` is its path in the caller's words ("schedule.cron"), `detail` helps to mend it."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(f"{field}: {detail}")
        self.field = field
        self.detail = detail

    @property
    def errors(self) -> tuple[FieldError, ...]:
        """Itself, so that one handler serves both this and `FieldErrors`."""
        return (self,)

    def under(self, prefix: str) -> FieldError:
        """The same error seen from further out: "cron" under "schedule" is "schedule.cron"."""
        return FieldError(f"{prefix}.{self.field}", self.detail)


class FieldErrors(HourbellError):  # noqa: N818 - the plural of FieldError
    """Several fields are bad at once; `errors` keeps the order in which they were found."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(str(error) for error in self.errors))

    def under(self, prefix: str) -> FieldErrors:
        """The same errors seen from further out."""
        return FieldErrors(error.under(prefix) for error in self.errors)


def shown(value: object, limit: int = 40) -> str:
    """Foreign input made safe to quote in a message: plain ASCII, quoted, short."""
    text = ascii(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."
