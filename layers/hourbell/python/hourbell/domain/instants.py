"""Instants: RFC 3339 in, UTC with milliseconds out. Finer digits are cut, never rounded."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from hourbell.domain.errors import FieldError, shown
from hourbell.domain.limits import MAX_INSTANT, MIN_INSTANT

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_RFC3339 = (
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,30}))?)?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})?"
)


def parse_instant(text: object, *, field: str) -> datetime:
    """An aware UTC datetime cut to the millisecond; the text must carry `Z` or an offset."""
    wall, offset = parse_wall_time(text, field=field)
    if offset is None:
        raise FieldError(field, f'{shown(text)} has no offset; write "…Z" or "…+05:30"')
    return bounded((wall - offset).replace(tzinfo=UTC), field=field)


def parse_wall_time(text: object, *, field: str) -> tuple[datetime, timedelta | None]:
    """The naive wall time as written, cut to the millisecond, and its offset when it carries one."""
    if not isinstance(text, str):
        raise FieldError(field, 'must be a time as text, like "2027-03-14T07:00:00Z"')
    match = re.fullmatch(_RFC3339, text) if len(text) <= 64 else None
    if match is None:
        raise FieldError(field, f'{shown(text)} is not an RFC 3339 time like "2027-03-14T07:00:00Z"')
    *numbers, fraction, zone = match.groups()
    year, month, day, hour, minute, second = (int(number or 0) for number in numbers)
    if not MIN_INSTANT.year - 1 <= year <= MAX_INSTANT.year + 1:
        raise FieldError(field, _OUT_OF_RANGE)
    microsecond = int((fraction or "")[:3].ljust(3, "0")) * 1_000
    try:
        wall = datetime(year, month, day, hour, minute, second, microsecond)  # noqa: DTZ001 - naive on purpose
    except ValueError:
        raise FieldError(field, f"{shown(text)} does not exist in the calendar") from None
    return wall, _offset(zone, field)


def _offset(zone: str | None, field: str) -> timedelta | None:
    if zone is None or zone in "Zz":
        return None if zone is None else timedelta()
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if hours > 18 or minutes > 59:
        raise FieldError(field, f"{zone} is not an offset from UTC")
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if zone[0] == "-" else offset


_OUT_OF_RANGE = f"must lie between the years {MIN_INSTANT.year} and {MAX_INSTANT.year}"


def bounded(instant: datetime, *, field: str) -> datetime:
    """The instant itself, when every later computation can hold it."""
    if not MIN_INSTANT <= instant <= MAX_INSTANT:
        raise FieldError(field, _OUT_OF_RANGE)
    return instant


def format_instant(instant: datetime) -> str:
    """RFC 3339 with milliseconds: "2027-03-14T07:00:00.000Z"."""
    return instant.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def floor_ms(instant: datetime) -> datetime:
    """Cut to the millisecond, in UTC."""
    utc = instant.astimezone(UTC)
    return utc.replace(microsecond=utc.microsecond // 1_000 * 1_000)


def epoch_ms(instant: datetime) -> int:
    """Whole milliseconds since 1970, cut; exact, since no float takes part."""
    return (instant - EPOCH) // _MILLISECOND


def from_epoch_ms(milliseconds: int) -> datetime:
    """The UTC instant of whole milliseconds since 1970."""
    return EPOCH + timedelta(milliseconds=milliseconds)
