"""Durations: ISO 8601 ("PT30S", "P1D") or short ("30s", "5m", "2h", "1d"), to the millisecond."""

from __future__ import annotations

import re
from datetime import timedelta

from hourbell.domain.errors import FieldError, shown
from hourbell.domain.limits import DURATION_MAX_MS

_SHORT = r"([0-9]{1,12})([smhd])"
_ISO = (
    r"P(?:([0-9]{1,6})W)?(?:([0-9]{1,6})D)?"
    r"(?:T(?=[0-9])(?:([0-9]{1,8})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,12})(?:\.([0-9]{1,3}))?S)?)?"
)
_SHORT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_ISO_MS = (604_800_000, 86_400_000, 3_600_000, 60_000, 1_000)
_MILLISECOND = timedelta(milliseconds=1)


def parse_duration(
    text: object,
    *,
    field: str,
    minimum_ms: int = 0,
    maximum_ms: int = DURATION_MAX_MS,
) -> timedelta:
    """A whole number of milliseconds between the bounds, both included.

    Years and months are refused: they are not a fixed length of time.
    """
    if not isinstance(text, str):
        raise FieldError(field, 'must be a duration as text, like "PT30S" or "30s"')
    milliseconds = _milliseconds(text) if len(text) <= 40 else None
    if milliseconds is None:
        raise FieldError(field, f'{shown(text)} is not a duration; write "PT30S", "P1D", "30s", "5m", "2h" or "1d"')
    if not minimum_ms <= milliseconds <= maximum_ms:
        least, most = (format_duration(timedelta(milliseconds=ms)) for ms in (minimum_ms, maximum_ms))
        raise FieldError(field, f"must be between {least} and {most}")
    return timedelta(milliseconds=milliseconds)


def _milliseconds(text: str) -> int | None:
    if short := re.fullmatch(_SHORT, text):
        return int(short[1]) * _SHORT_MS[short[2]]
    iso = re.fullmatch(_ISO, text)
    if iso is None or text == "P":
        return None
    *whole, fraction = iso.groups("")
    total = sum(int(part or 0) * ms for part, ms in zip(whole, _ISO_MS, strict=True))
    return total + int(fraction.ljust(3, "0"))


def duration_ms(duration: timedelta) -> int:
    """Whole milliseconds, the rest cut."""
    return duration // _MILLISECOND


def format_duration(duration: timedelta) -> str:
    """The ISO form without zero parts: "PT30S", "PT1H", "P1DT2H", "PT0.5S", "PT0S"."""
    seconds, ms = divmod(duration_ms(duration), 1_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    second_part = f"{seconds}.{ms:03d}".rstrip("0") if ms else str(seconds)
    clock = "".join(
        f"{amount}{unit}"
        for amount, unit in ((str(hours), "H"), (str(minutes), "M"), (second_part, "S"))
        if amount != "0"
    )
    if not days and not clock:
        return "PT0S"
    return "P" + (f"{days}D" if days else "") + (f"T{clock}" if clock else "")
