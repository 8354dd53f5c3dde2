"""The cron dialect: five fields as Debian's crontab(5), or six with seconds first; read here, never elsewhere.

    expression ── parse_cron ──▶ CronExpression ── times(job_id) ──▶ WallTimes: plain sorted lists, and which days

Everything is naive wall-clock time: seconds since 1970-01-01T00:00 on a clock without any zone. `clock.py` turns
wall times into instants. Rules beyond crontab(5): L, W, LW, 5L and # as in Quartz, H as in Jenkins.

croniter reads the plain lists a second time when a job is created (`confirm`). It does not enumerate: docs/decisions/
0002-cron-engine.md has the figures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from uuid import UUID

from hourbell.domain.errors import FieldError, shown
from hourbell.domain.limits import CRON_MAX_LENGTH
from hourbell.domain.wall_times import MONTH_LENGTHS, DayRule, Days, WallTimes

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTH_NAMES = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAY_NAMES = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


def _refused(detail: str) -> FieldError:
    return FieldError("cron", detail)


# --- What a field may hold ---


@dataclass(frozen=True, slots=True)
class _Kind:
    """One of the six fields. `top` is the highest number that may be written (7 is Sunday, too)."""

    name: str
    low: int
    high: int
    top: int
    names: tuple[str, ...] = ()
    hash_high: int = -1

    @property
    def range(self) -> str:
        return f"{self.low}-{self.top}" + (f" or {self.names[0]}-{self.names[-1]}" if self.names else "")


_SECOND = _Kind("second", 0, 59, 59)
_MINUTE = _Kind("minute", 0, 59, 59)
_HOUR = _Kind("hour", 0, 23, 23)
# H stays within the days that every month has.
_DAY_OF_MONTH = _Kind("day of month", 1, 31, 31, hash_high=28)
_MONTH = _Kind("month", 1, 12, 12, _MONTHS)
_WEEKDAY = _Kind("day of week", 0, 6, 7, _WEEKDAYS)
_KINDS = (_SECOND, _MINUTE, _HOUR, _DAY_OF_MONTH, _MONTH, _WEEKDAY)


@dataclass(frozen=True, slots=True)
class _Hashed:
    """`H(low-high)/step`: one value (or one phase of the step) per job."""

    low: int
    high: int
    step: int

    def values(self, number: int) -> range:
        if not self.step:
            value = self.low + number % (self.high - self.low + 1)
            return range(value, value + 1)
        return range(self.low + number % min(self.step, self.high - self.low + 1), self.high + 1, self.step)


@dataclass(slots=True)
class _Field:
    """A field as read: plain values, hashed items, and the day forms that depend on the month."""

    starred: bool = False
    plain: set[int] = field(default_factory=set)
    hashed: list[_Hashed] = field(default_factory=list)
    last: set[int] = field(default_factory=set)  # L, L-3: days before the last
    last_workday: set[int] = field(default_factory=set)  # LW, L-3W
    nearest_workday: set[int] = field(default_factory=set)  # 15W
    last_weekday: set[int] = field(default_factory=set)  # 5L
    nth_weekday: set[tuple[int, int]] = field(default_factory=set)  # 5#2

    def resolved(self, number: int) -> tuple[int, ...]:
        return tuple(sorted(self.plain.union(*(item.values(number) for item in self.hashed))))


# --- Reading one item of a list ---

# Patterns are compiled when first used: most processes meet few of them, and every import would pay for all.
_NUMBER = r"[0-9]{1,4}|[A-Z]{3}"
_STAR = r"\*(?:/([0-9]{1,4}))?"
_RANGE = rf"({_NUMBER})(?:-({_NUMBER}))?(?:/([0-9]{{1,4}}))?"
_HASH = r"H(?:\(([0-9]{1,4})-([0-9]{1,4})\))?(?:/([0-9]{1,4}))?"
_LAST_DAY = r"L(?:-([0-9]{1,2}))?(W)?"
_NEAREST = r"([0-9]{1,2})W"
_LAST_WEEKDAY = rf"({_NUMBER})L"
_NTH_WEEKDAY = rf"({_NUMBER})#([0-9]{{1,2}})"


def _read_field(text: str, kind: _Kind) -> _Field:
    read = _Field(starred=text.startswith("*"))
    if text == "?" and kind in (_DAY_OF_MONTH, _WEEKDAY):
        text, read.starred = "*", True
    for item in text.split(","):
        _read_item(item, kind, read)
    return read


def _read_item(item: str, kind: _Kind, read: _Field) -> None:
    if match := re.fullmatch(_STAR, item):
        read.plain.update(range(kind.low, kind.high + 1, _step(match[1], kind)))
    elif match := re.fullmatch(_HASH, item):
        read.hashed.append(_hashed(match, kind))
    elif match := re.fullmatch(_RANGE, item):
        read.plain.update(_range(match, kind))
    elif not (kind is _DAY_OF_MONTH and _read_day_form(item, read)) and not (
        kind is _WEEKDAY and _read_weekday_form(item, read)
    ):
        raise _refused(_why_not(item, kind))


def _range(match: re.Match[str], kind: _Kind) -> Iterable[int]:
    """a, a-b, a/n, a-b/n. A range may pass the end of the field; its step goes on across the end."""
    first, last, step = match.groups()
    start = _value(first, kind)
    if last is None:
        if step is None:
            return (_ring(start, kind),)
        if start > kind.high:
            raise _refused("7/n is unclear: write 0/n to count from Sunday, or 7 for Sundays alone")
        return range(start, kind.high + 1, _step(step, kind))
    end, step_size = _value(last, kind), _step(step, kind)
    if start > end:
        start = _ring(start, kind)
        end += 0 if start <= end else kind.high - kind.low + 1
    return (_ring(value, kind) for value in range(start, end + 1, step_size))


def _ring(value: int, kind: _Kind) -> int:
    return value if value <= kind.high else kind.low + (value - kind.low) % (kind.high - kind.low + 1)


def _value(text: str, kind: _Kind) -> int:
    if text in kind.names:
        return kind.names.index(text) + kind.low
    if not text.isdigit():
        raise _refused(_why_not(text, kind))
    value = int(text)
    if not kind.low <= value <= kind.top:
        raise _refused(f"{kind.name} {value} is outside {kind.range}")
    return value


def _step(text: str | None, kind: _Kind) -> int:
    if text is None:
        return 1
    if int(text) == 0:
        raise _refused(f"step of 0 in the {kind.name}")
    return int(text)


def _hashed(match: re.Match[str], kind: _Kind) -> _Hashed:
    high = kind.hash_high if kind.hash_high >= 0 else kind.high
    first, last, step = match.groups()
    if first is None:
        return _Hashed(kind.low, high, _step(step, kind) if step else 0)
    start, end = int(first), int(last)
    if not kind.low <= start <= end <= high:
        raise _refused(f"H in the {kind.name} stays within {kind.low}-{high}, as H(from-to)")
    return _Hashed(start, end, _step(step, kind) if step else 0)


def _read_day_form(item: str, read: _Field) -> bool:
    """L, L-3, LW, L-3W, 15W (Quartz)."""
    if match := re.fullmatch(_LAST_DAY, item):
        before = int(match[1] or 0)
        if before > 30:
            raise _refused(f"{item} lies before the month: L-1 to L-30")
        (read.last_workday if match[2] else read.last).add(before)
    elif match := re.fullmatch(_NEAREST, item):
        read.nearest_workday.add(_value(match[1], _DAY_OF_MONTH))
    else:
        return False
    return True


def _read_weekday_form(item: str, read: _Field) -> bool:
    """5L, FRIL, 5#2, FRI#2 (Quartz, with cron's numbers of the days)."""
    if match := re.fullmatch(_LAST_WEEKDAY, item):
        read.last_weekday.add(_value(match[1], _WEEKDAY) % 7)
    elif match := re.fullmatch(_NTH_WEEKDAY, item):
        weekday, nth = _value(match[1], _WEEKDAY) % 7, int(match[2])
        if not 1 <= nth <= 5:
            raise _refused(f"#{nth}: a month has a first to a fifth {_DAY_NAMES[weekday]}, so #1 to #5")
        read.nth_weekday.add((weekday, nth))
    else:
        return False
    return True


def _why_not(item: str, kind: _Kind) -> str:
    """What is wrong with an item that no form fits."""
    where = f"{shown(item)} in the {kind.name}"
    if not item:
        return f"empty item in the list of the {kind.name}"
    if kind is _WEEKDAY and (match := re.fullmatch(r"L(-?[0-7]|[A-Z]{3})", item)):
        return f"{where}: the last one of the month is written {match[1].lstrip('-')}L"
    if kind is _WEEKDAY and item == "L":
        return f"{where}: write 6 for every Saturday, 6L for the last one of the month"
    if item[:3] in _MONTHS + _WEEKDAYS:
        return _why_not_named(item, kind, where)
    advice = next((advice for pattern, advice in _ADVICE if re.search(pattern, item)), None)
    return f"{where}: {advice}" if advice else f"{where} is not accepted; allowed: {kind.range}, *, lists, steps"


_ADVICE = (
    (r"^R(\b|\(|/)", "R (random) differs from machine to machine; H is spread over the jobs and stays put"),
    (r"^/", "a step needs a start, as in */5"),
    (r"^W$", "W follows a day, as in 15W, or L"),
    (r"\?", "? stands alone, and only in a day field"),
    (r"^[0-9LW#-]*[LW#]", "L and W belong to the day of month, 5L and 5#2 to the day of week"),
)


def _why_not_named(item: str, kind: _Kind, where: str) -> str:
    if item[:3] not in kind.names:
        other = "month" if item[:3] in _MONTHS else "day of week"
        return f"{where}: {item[:3]} is a {other}; allowed: {kind.range}"
    if "_" in item:
        return f"{where}: a range is written with a hyphen, {item.replace('_', '-')}"
    return f"{where}: names have three letters, {item[:3]}"


# --- Reading the whole expression ---


@dataclass(frozen=True, slots=True, eq=False)
class CronExpression:
    """What was written (single-spaced), and what it means. `interval_like`: minute or hour starts with `*`."""

    text: str
    interval_like: bool
    hashed: bool
    _fields: tuple[_Field, ...]

    def times(self, job_id: UUID | None) -> WallTimes:
        """The wall times of this job; without H they are the same for every job."""
        if self.hashed and job_id is None:
            raise _refused("H is worked out from the id of a job, and here is none")
        return _wall_times(self, job_id if self.hashed else None)

    def spelled_out(self, job_id: UUID | None) -> str:
        """Five fields, or six where seconds matter, with nicknames and the H of this job worked out."""
        parts = _parts(self.text)
        for index, (read, kind) in enumerate(zip(self._fields, _KINDS, strict=True)):
            if read.hashed:
                values = sorted({value for item in read.hashed for value in item.values(_number(job_id, kind))})
                others = [item for item in parts[index].split(",") if not item.startswith("H")]
                parts[index] = ",".join([*map(str, values), *others])
        return " ".join(parts[1:] if parts[0] == "0" else parts)


def parse_cron(expression: object) -> CronExpression:
    """Read and normalise; raises `FieldError("cron", …)` for what is not accepted or can never fire."""
    return _parsed(_spaced(expression))


@lru_cache(maxsize=8_192)
def _parsed(text: str) -> CronExpression:
    parts = _parts(text)
    try:
        fields = tuple(_read_field(part, kind) for part, kind in zip(parts, _KINDS, strict=True))
    except FieldError as error:
        if len(text.split(" ")) == 6:
            raise _refused(f"{error.detail} (6 fields: seconds come first here)") from None
        raise
    parsed = CronExpression(
        text=text,
        interval_like=parts[1].startswith("*") or parts[2].startswith("*"),
        hashed=any(read.hashed for read in fields),
        _fields=fields,
    )
    _refuse_what_never_comes(parsed)
    return parsed


def _spaced(expression: object) -> str:
    """Single-spaced, or refused: only printable ASCII, space and tab get any further."""
    if not isinstance(expression, str):
        raise _refused('must be text, like "0 2 * * *"')
    if len(expression) > CRON_MAX_LENGTH:
        raise _refused(f"longer than {CRON_MAX_LENGTH} characters")
    for character in expression:
        if not (" " <= character <= "~" or character == "\t"):
            raise _refused(f"only plain ASCII, space and tab are allowed, not {character!a}")
    return " ".join(expression.split())


def _parts(text: str) -> list[str]:
    """Six upper-case fields."""
    if text.startswith("@"):
        text = _nickname(text)
    if re.match(r"(CRON_)?TZ=", text, re.IGNORECASE):
        raise _refused("the time zone goes into the field timezone, not into the expression")
    parts = text.upper().split()
    if len(parts) == 5:
        return ["0", *parts]
    if len(parts) == 6:
        return parts
    if len(parts) == 7:
        raise _refused("7 fields: there is no field for the year; start_at and end_at set bounds")
    counted = "1 field" if len(parts) == 1 else f"{len(parts)} fields"
    raise _refused(f"{counted}: 5 are needed (minute hour day month weekday), or 6 with seconds first")


def _nickname(text: str) -> str:
    name = text.lower()
    if name in _NICKNAMES:
        return _NICKNAMES[name]
    if name.startswith("@every"):
        raise _refused('an interval is written as {"every": "5m"} instead of cron')
    raise _refused(f"{shown(text)} is not known; there are {', '.join(_NICKNAMES)}")


def _refuse_what_never_comes(parsed: CronExpression) -> None:
    """Looks at every kind of year there is: 7 first weekdays, with and without a leap day."""
    months = parsed._fields[4]
    for numbers in sorted({months.resolved(number) for number in range(12 if months.hashed else 1)}):
        days = _day_rule(parsed, None)
        lengths = {MONTH_LENGTHS[month] for month in numbers} | ({29} if 2 in numbers else set())
        if not any(days.mask(first, length) for length in lengths for first in range(7)):
            raise _refused(_never(days, numbers))


def _never(days: DayRule, months: tuple[int, ...]) -> str:
    if days.plain_days_only:
        numbers = " or ".join(str(day) for day in sorted(days.days))
        return f"{numbers} {' or '.join(_MONTH_NAMES[month - 1] for month in months)} never comes"
    return "no date ever fits both the day of month and the day of week"


@lru_cache(maxsize=8_192)
def _wall_times(parsed: CronExpression, job_id: UUID | None) -> WallTimes:
    seconds, minutes, hours = (
        read.resolved(_number(job_id, kind) if read.hashed else 0)
        for read, kind in zip(parsed._fields[:3], _KINDS[:3], strict=True)
    )
    hashed_days = any(read.hashed for read in parsed._fields[3:])
    return WallTimes(seconds, minutes, hours, _days(parsed, job_id if hashed_days else None))


@lru_cache(maxsize=8_192)
def _days(parsed: CronExpression, job_id: UUID | None) -> Days:
    return Days(_day_rule(parsed, job_id))


def _day_rule(parsed: CronExpression, job_id: UUID | None) -> DayRule:
    day, month, weekday = parsed._fields[3:]
    return DayRule(
        months=frozenset(month.resolved(_number(job_id, _MONTH)) if job_id else _every_month(month)),
        both=day.starred or weekday.starred,
        days=frozenset(day.resolved(_number(job_id, _DAY_OF_MONTH))),
        last=frozenset(day.last),
        last_workday=frozenset(day.last_workday),
        nearest_workday=frozenset(day.nearest_workday),
        weekdays=frozenset(weekday.resolved(_number(job_id, _WEEKDAY))),
        last_weekday=frozenset(weekday.last_weekday),
        nth_weekday=frozenset(weekday.nth_weekday),
    )


def _every_month(month: _Field) -> Iterable[int]:
    return range(1, 13) if month.hashed else month.plain


def _number(job_id: UUID | None, kind: _Kind) -> int:
    """A stable number per job and field; never Python's `hash()`."""
    if job_id is None:
        return 0
    return int.from_bytes(sha256(kind.name.encode() + job_id.bytes).digest()[:8])


# --- A second reading ---


def confirm(parsed: CronExpression) -> None:
    """Let croniter read the plain lists and compare: two readers must agree before a job is stored.

    Imports croniter (60 ms) on first use, so that planning never pays for it.
    """
    _confirm(tuple(read.resolved(0) for read in parsed._fields))


@lru_cache(maxsize=8_192)
def _confirm(lists: tuple[tuple[int, ...], ...]) -> None:
    from croniter import CroniterError, croniter

    ordered = [values or tuple(range(kind.low, kind.high + 1)) for values, kind in zip(lists, _KINDS, strict=True)]
    try:
        expanded, _ = croniter.expand(
            " ".join(",".join(map(str, values)) for values in ordered), second_at_beginning=True
        )
    except CroniterError as error:
        raise _refused(f"a second reading refuses it: {error}") from None
    croniters = [*expanded[5:], *expanded[:5]] if len(expanded) == 6 else expanded
    for values, others, kind in zip(ordered, croniters, _KINDS, strict=True):
        theirs = tuple(range(kind.low, kind.high + 1)) if others == ["*"] else tuple(others)
        if theirs != values:
            raise _refused(f"two readings of the {kind.name} differ")
