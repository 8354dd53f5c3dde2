"""EventBridge's cron expressions as Hourbell's: six fields, the last one a year, Sunday 1 to Saturday 7.

    cron(minutes hours day-of-month month day-of-week year)

From "Schedule types in EventBridge Scheduler" and "Cron expressions" of its guides, read 2026-11. One of the two day
fields is always ``?``, so that crontab(5)'s rule for two of them never matters here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hourbell.importing.plan import ImportRefusedError

_HIGHEST = {"minutes": 59, "hours": 23, "day-of-month": 31, "month": 12, "day-of-week": 6}
_FIRST_YEAR, _LAST_YEAR = 1970, 2199
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_VALUE = r"[0-9]{1,2}|[A-Za-z]{3}"
_PART = re.compile(rf"(?P<low>\*|{_VALUE})(?:-(?P<high>{_VALUE}))?(?:/(?P<step>[0-9]{{1,2}}))?")
_SPECIAL_DAY = re.compile(r"L|LW|[0-9]{1,2}W")
_SPECIAL_WEEKDAY = re.compile(rf"(?P<day>{_VALUE})(?P<which>L|#[1-5])")
_YEARS = re.compile(r"(?P<low>[0-9]{4})(?:-(?P<high>[0-9]{4}))?(?:/(?P<step>[0-9]{1,3}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsCron:
    """Five fields of ours, and the years they hold in; None: for ever. ``has_interval``: of the kind that counts hours
    or minutes, which Hourbell runs in both passes of a repeated hour."""

    cron: str
    first_year: int | None
    last_year: int | None

    @property
    def has_interval(self) -> bool:
        """As docs/clock-rules.md tells intervals from fixed times."""
        return any(field.startswith("*") for field in self.cron.split()[:2])


def translate(expression: str) -> AwsCron:
    """Translate what stands between the brackets of ``cron(…)``.

    Raises:
        ImportRefusedError: it is none, or has years with holes.
    """
    fields = expression.split()
    if len(fields) != 6:
        raise ImportRefusedError(f"cron({expression}) has {len(fields)} fields and not six")
    minutes, hours, day, month, weekday, year = (field.upper() for field in fields)
    if (day == "?") == (weekday == "?"):
        raise ImportRefusedError("one of day-of-month and day-of-week must be ?, and only one")
    first, last = _years(year)
    ours = (
        _list(minutes, "minutes"),
        _list(hours, "hours"),
        "*" if day == "?" else _list(day, "day-of-month"),
        _list(month, "month"),
        "*" if weekday == "?" else _list(weekday, "day-of-week"),
    )
    return AwsCron(cron=" ".join(ours), first_year=first, last_year=last)


def _list(text: str, field: str) -> str:
    return ",".join(_part(part, field) for part in text.split(","))


def _part(part: str, field: str) -> str:
    if field == "day-of-month" and _SPECIAL_DAY.fullmatch(part):
        return part
    if field == "day-of-week":
        if part == "L":  # the last day of the week
            return "6"
        special = _SPECIAL_WEEKDAY.fullmatch(part)
        if special is not None:
            return f"{_value(special['day'], field)}{special['which']}"
    match = _PART.fullmatch(part)
    if match is None or (match["low"] == "*" and match["high"]):
        raise ImportRefusedError(f"{part} is no {field}")
    step = "" if match["step"] is None else f"/{int(match['step'])}"
    if match["low"] == "*":
        return f"*{step}"
    low = _value(match["low"], field)
    if match["high"]:
        return f"{low}-{_value(match['high'], field)}{step}"
    # 5/15: from 5 on, every 15
    return f"{low}-{_HIGHEST[field]}{step}" if step else str(low)


def _value(text: str, field: str) -> int:
    names = {"month": _MONTHS, "day-of-week": _WEEKDAYS}.get(field, ())
    if text in names:
        return names.index(text) + (field == "month")
    if not text.isdecimal():
        raise ImportRefusedError(f"{text} is no {field}")
    number = int(text)
    if field != "day-of-week":
        return number
    if not 1 <= number <= 7:
        raise ImportRefusedError(f"{text} is no day-of-week: they are 1-7 or SUN-SAT")
    return number - 1


def _years(text: str) -> tuple[int | None, int | None]:
    """The first and the last year; None where there is no bound."""
    if text == "*":
        return None, None
    years: set[int] = set()
    for part in text.split(","):
        years.update(_year_range(part))
    if not years:
        raise ImportRefusedError(f"{text} is no year")
    first, last = min(years), max(years)
    if len(years) != last - first + 1:
        raise ImportRefusedError(f"the years {text} have holes, and a job has one start_at and one end_at")
    return (None if first <= _FIRST_YEAR else first), (None if last >= _LAST_YEAR else last)


def _year_range(part: str) -> range:
    match = _YEARS.fullmatch(part)
    if match is None:
        raise ImportRefusedError(f"{part} is no year")
    low, step = int(match["low"]), int(match["step"] or 1)
    high = int(match["high"]) if match["high"] else (_LAST_YEAR if match["step"] else low)
    if not (_FIRST_YEAR <= low <= high <= _LAST_YEAR and step):
        raise ImportRefusedError(f"{part} is no year: they are {_FIRST_YEAR}-{_LAST_YEAR}")
    return range(low, high + 1, step)
