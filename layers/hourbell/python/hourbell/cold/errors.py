"""What may be wrong with what is in S3. Apart from what reads it: who only tells of errors need not import that."""

from __future__ import annotations

from hourbell.domain.errors import HourbellError


class ColdUnavailableError(HourbellError):
    """S3 did not answer as it should; the same call may succeed later."""


class SegmentError(HourbellError):
    """A segment of the catalogue cannot be read: ``key`` is the object, ``detail`` what is wrong with it."""

    def __init__(self, key: str, detail: str) -> None:
        super().__init__(f"{key}: {detail}")
        self.key = key
        self.detail = detail


class RecordError(HourbellError):
    """The line is not a record that this release reads."""
