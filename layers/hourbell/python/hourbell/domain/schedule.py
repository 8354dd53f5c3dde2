"""When a job runs: `cron`, `every` or `at`, with bounds. The one place that answers "when next?".

    parse_schedule ─┐                              next_after   last_before   includes   count_between
    schedule_from_json ─▶ Cron | Every | At ─▶     all of them read the same list of occurrences

Every question costs the same however far apart its ends are: nothing here walks from one occurrence to the next.
`max_runs` is carried, not applied: only the store knows how many runs a job has had.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeVar
from uuid import UUID

from hourbell.domain.clock import ZonedTimes, instants_of, zone
from hourbell.domain.cron import CronExpression, confirm, parse_cron
from hourbell.domain.durations import duration_ms, format_duration, parse_duration
from hourbell.domain.errors import FieldError, FieldErrors, shown
from hourbell.domain.instants import (
    EPOCH,
    bounded,
    epoch_ms,
    floor_ms,
    format_instant,
    parse_wall_time,
)
from hourbell.domain.limits import (
    EVERY_MAX_MS,
    EVERY_MIN_MS,
    EXCLUDE_MAX_DATES,
    MAX_INSTANT,
    MAX_RUNS_LIMIT,
    MIN_INSTANT,
)
from hourbell.domain.occurrence import Occurrence
from hourbell.domain.wall_times import DAY, EPOCH_DAY

Found = tuple[int, str | None]  # milliseconds since 1970, note
Instants = tuple[tuple[datetime, str | None], ...]
_LAST_MS = epoch_ms(MAX_INSTANT)
_MILLISECOND = timedelta(milliseconds=1)
_ANSWERS_KEPT = 8
_NO_DATES: tuple[date, ...] = ()
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Gap(StrEnum):
    """What becomes of a fixed time that a clock change leaves out: it fires after the gap, or not at all."""

    RUN = "run"
    SKIP = "skip"


class Repeat(StrEnum):
    """How often a fixed time fires that a clock change brings twice: in the first pass, or in both."""

    ONCE = "once"
    TWICE = "twice"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bounds:
    """What every recurring schedule may carry: both ends included; `exclude` are dates in the job's zone."""

    start_at: datetime | None = None
    end_at: datetime | None = None
    max_runs: int | None = None
    exclude: tuple[date, ...] = ()
    # The answers given last, by the millisecond asked about: thousands of jobs share one schedule and one instant.
    _answers: dict[int, Occurrence | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    def _excluded_days(self) -> frozenset[int]:
        return frozenset(day.toordinal() - EPOCH_DAY for day in self.exclude)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron(_Bounds):
    """A cron expression on the wall clock of a zone; building one validates both. `cron` is kept single-spaced."""

    cron: str
    timezone: str = "UTC"
    gap: Gap = Gap.RUN
    repeat: Repeat = Repeat.ONCE
    expression: CronExpression = field(init=False, repr=False, compare=False)
    _zoned: ZonedTimes | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        expression = parse_cron(self.cron)
        zone(self.timezone)
        object.__setattr__(self, "cron", expression.text)
        object.__setattr__(self, "expression", expression)
        object.__setattr__(self, "_zoned", None if expression.hashed else self._build(None))

    def _zoned_for(self, job_id: UUID | None) -> ZonedTimes:
        return self._zoned or self._build(job_id)

    def _build(self, job_id: UUID | None) -> ZonedTimes:
        """The instants of this job; raises `FieldError` for H without a job."""
        try:
            times = self.expression.times(job_id)
        except FieldError as error:
            raise error.under("schedule") from None
        return ZonedTimes(
            times=times,
            zone=zone(self.timezone),
            interval_like=self.expression.interval_like,
            gap_runs=self.gap is Gap.RUN,
            repeat_twice=self.repeat is Repeat.TWICE,
            excluded=self._excluded_days(),
        )

    def _first_from(self, earliest: int, job_id: UUID | None) -> Found | None:
        found = self._zoned_for(job_id).next_from(-(-earliest // 1_000))
        return found and (found[0] * 1_000, found[1])

    def _last_until(self, latest: int, job_id: UUID | None) -> Found | None:
        found = self._zoned_for(job_id).last_until(latest // 1_000)
        return found and (found[0] * 1_000, found[1])

    def _count(self, earliest: int, latest: int, job_id: UUID | None) -> int:
        return self._zoned_for(job_id).count(-(-earliest // 1_000), latest // 1_000 + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Every(_Bounds):
    """Elapsed time: anchor, anchor + every, anchor + 2 * every, …; it never drifts. `timezone` is that of `exclude`."""

    every_ms: int
    anchor: datetime
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        zone(self.timezone)

    def _first_from(self, earliest: int, _job_id: UUID | None) -> Found | None:
        anchor, excluded = epoch_ms(self.anchor), self._excluded_days()
        while earliest <= _LAST_MS:
            found = anchor + max(0, -(-(earliest - anchor) // self.every_ms)) * self.every_ms
            if not excluded or (free := self._after_excluded(found, excluded)) == found:
                return (found, None) if found <= _LAST_MS else None
            earliest = free
        return None

    def _last_until(self, latest: int, _job_id: UUID | None) -> Found | None:
        anchor, excluded = epoch_ms(self.anchor), self._excluded_days()
        while latest >= anchor:
            found = anchor + (latest - anchor) // self.every_ms * self.every_ms
            if not excluded or (free := self._before_excluded(found, excluded)) == found:
                return found, None
            latest = free
        return None

    def _count(self, earliest: int, latest: int, _job_id: UUID | None) -> int:
        total = self._count_raw(earliest, latest + 1)
        for day in self._excluded_days():
            for start, end in zone(self.timezone).spans_of_day(day):
                total -= self._count_raw(max(earliest, start * 1_000), min(latest + 1, end * 1_000))
        return total

    def _count_raw(self, start: int, end: int) -> int:
        """Occurrences in [start, end), excluded dates or not."""
        anchor = epoch_ms(self.anchor)
        first, past = (max(0, -(-(edge - anchor) // self.every_ms)) for edge in (start, end))
        return max(0, past - first)

    def _after_excluded(self, ms: int, excluded: frozenset[int]) -> int:
        stretch = zone(self.timezone).stretch(ms // 1_000)
        day = (ms // 1_000 + stretch.offset) // DAY
        return min(stretch.end, (day + 1) * DAY - stretch.offset) * 1_000 if day in excluded else ms

    def _before_excluded(self, ms: int, excluded: frozenset[int]) -> int:
        stretch = zone(self.timezone).stretch(ms // 1_000)
        day = (ms // 1_000 + stretch.offset) // DAY
        return max(stretch.start, day * DAY - stretch.offset) * 1_000 - 1 if day in excluded else ms


@dataclass(frozen=True, slots=True, kw_only=True)
class At(_Bounds):
    """One time, as written, and its instant. `second_at` only for a repeated local time with `repeat: "twice"`."""

    text: str
    at: datetime
    second_at: datetime | None = None
    timezone: str | None = None
    gap: Gap = Gap.RUN
    repeat: Repeat = Repeat.ONCE
    notes: tuple[str | None, ...] = field(default=(None, None), compare=False)

    def _instants(self) -> tuple[Found, ...]:
        """One or two, in order."""
        instants = (self.at,) if self.second_at is None else (self.at, self.second_at)
        return tuple((epoch_ms(instant), note) for instant, note in zip(instants, self.notes, strict=False))

    def _first_from(self, earliest: int, _job_id: UUID | None) -> Found | None:
        return next((found for found in self._instants() if found[0] >= earliest), None)

    def _last_until(self, latest: int, _job_id: UUID | None) -> Found | None:
        return next((found for found in reversed(self._instants()) if found[0] <= latest), None)

    def _count(self, earliest: int, latest: int, _job_id: UUID | None) -> int:
        return sum(earliest <= ms <= latest for ms, _ in self._instants())


Schedule = Cron | Every | At


# --- Asking ---


def next_after(
    schedule: Schedule, job_id: UUID | None, instant: datetime, *, inclusive: bool = False
) -> Occurrence | None:
    """The first occurrence strictly after the instant (or at it); None when there is no more.

    `job_id` may be None for a schedule without H. Raises `FieldError` otherwise.
    """
    since = instant - EPOCH
    earliest = -(-since // _MILLISECOND) if inclusive else since // _MILLISECOND + 1
    if isinstance(schedule, Cron) and schedule.expression.hashed:
        return _first_from(schedule, job_id, earliest)
    answers = schedule._answers
    try:
        return answers[earliest]
    except KeyError:
        found = _first_from(schedule, job_id, earliest)
    if len(answers) >= _ANSWERS_KEPT:
        answers.clear()
    answers[earliest] = found
    return found


def _first_from(schedule: Schedule, job_id: UUID | None, earliest: int) -> Occurrence | None:
    if schedule.start_at is not None:
        earliest = max(earliest, epoch_ms(schedule.start_at))
    return _within(schedule, schedule._first_from(max(earliest, 0), job_id))


def last_before(schedule: Schedule, job_id: UUID | None, instant: datetime) -> Occurrence | None:
    """The latest occurrence at or before the instant; None when there is none."""
    return _within(schedule, schedule._last_until(min(epoch_ms(instant), _end_ms(schedule)), job_id))


def includes(schedule: Schedule, job_id: UUID | None, scheduled_for: datetime) -> bool:
    """Whether this instant is one of the schedule's occurrences."""
    found = next_after(schedule, job_id, scheduled_for, inclusive=True)
    return found is not None and found.scheduled_for == scheduled_for


def count_between(schedule: Schedule, job_id: UUID | None, after: datetime, until: datetime, *, cap: int) -> int:
    """How many occurrences lie in (after, until], at most `cap`; counted, not walked."""
    earliest = max(epoch_ms(after) + 1, 0)
    if schedule.start_at is not None:
        earliest = max(earliest, epoch_ms(schedule.start_at))
    latest = min(epoch_ms(until), _end_ms(schedule))
    return min(cap, schedule._count(earliest, latest, job_id)) if earliest <= latest else 0


def times_left_out(schedule: Schedule, job_id: UUID | None, after: datetime, until: datetime) -> Iterator[int]:
    """Wall times (seconds since 1970) that clock changes in (after, until] swallow: the first of each gap."""
    if isinstance(schedule, Cron):
        yield from schedule._zoned_for(job_id).dropped(epoch_ms(after) // 1_000, epoch_ms(until) // 1_000)


def _end_ms(schedule: Schedule) -> int:
    return _LAST_MS if schedule.end_at is None else min(_LAST_MS, epoch_ms(schedule.end_at))


def _within(schedule: Schedule, found: Found | None) -> Occurrence | None:
    if found is None:
        return None
    scheduled_for = EPOCH + timedelta(milliseconds=found[0])
    if schedule.start_at is not None and scheduled_for < schedule.start_at:
        return None
    if schedule.end_at is not None and scheduled_for > schedule.end_at:
        return None
    return Occurrence(scheduled_for=scheduled_for, note=found[1])


# --- Reading and writing the API's shape ---


def parse_schedule(mapping: object, *, now: datetime) -> Schedule:
    """From the API's shape; raises `FieldErrors` naming "schedule.cron" and so on.

    Refuses what lies in the past and what will never fire. `every` without an anchor starts counting now; with
    `"past": "run_now"` an `at` in the past becomes the next millisecond.
    """
    schedule = _read(mapping, now)
    if isinstance(schedule, Cron):
        _checked(lambda: confirm(schedule.expression))
    if schedule.end_at is not None and schedule.end_at < now:
        raise FieldErrors([FieldError("schedule.end_at", "lies in the past")])
    if not isinstance(schedule, At) and next_after(schedule, _ANY_JOB, now) is None:
        culprit = "schedule.exclude" if schedule.exclude and schedule.end_at is None else "schedule.end_at"
        raise FieldErrors([FieldError(culprit, "leaves no time at which the job would run")])
    return schedule


@lru_cache(maxsize=8_192)
def schedule_from_json(text: str) -> Schedule:
    """From what the database kept (the JSON of `to_mapping`): no check against the present, parsed once per text.

    Raises `FieldErrors` when it is no longer accepted: a zone that was removed, say.
    """
    try:
        mapping = json.loads(text)
    except ValueError:
        raise FieldErrors([FieldError("schedule", "is not JSON")]) from None
    return _read(mapping, None)


def to_mapping(schedule: Schedule) -> dict[str, Any]:
    """The API's shape again; `parse_schedule` and `schedule_from_json` read it back to an equal schedule."""
    bounds = {
        "start_at": schedule.start_at and format_instant(schedule.start_at),
        "end_at": schedule.end_at and format_instant(schedule.end_at),
        "max_runs": schedule.max_runs,
        "exclude": [day.isoformat() for day in schedule.exclude],
    }
    if isinstance(schedule, Every):
        every = format_duration(timedelta(milliseconds=schedule.every_ms))
        anchor = format_instant(schedule.anchor)
        return {"every": every, "anchor": anchor, "timezone": schedule.timezone, **bounds}
    rules = {"timezone": schedule.timezone, "gap": schedule.gap.value, "repeat": schedule.repeat.value}
    if isinstance(schedule, At):
        return {"at": schedule.text, **rules}
    return {"cron": schedule.cron, **rules, **bounds}


_ANY_JOB = UUID(int=0)
_BOUNDS = ("start_at", "end_at", "max_runs", "exclude")
_KNOWN = {
    "cron": ("cron", "timezone", "gap", "repeat", *_BOUNDS),
    "every": ("every", "anchor", "timezone", *_BOUNDS),
    "at": ("at", "timezone", "gap", "repeat", "past"),
}
_ALL_KNOWN = frozenset(name for names in _KNOWN.values() for name in names)
Value = TypeVar("Value")


class _Reader:
    """Takes members out of a mapping and collects what is wrong with them. Null is the same as absent."""

    def __init__(self, mapping: Mapping[Any, Any], now: datetime | None) -> None:
        self.mapping = mapping
        self.now = now
        self.errors: list[FieldError] = []

    def take(self, name: str, read: Callable[[Any, str], Value], default: Value) -> Value:
        value = self.mapping.get(name)
        if value is None:
            return default
        try:
            return read(value, name)
        except FieldError as error:
            self.errors.append(error)
            return default

    def refuse(self, name: str, detail: str) -> None:
        self.errors.append(FieldError(name, detail))

    def finish(self) -> None:
        if self.errors:
            raise FieldErrors(self.errors).under("schedule")


def _read(mapping: object, now: datetime | None) -> Schedule:
    if not isinstance(mapping, Mapping):
        raise FieldErrors([FieldError("schedule", "must be an object")])
    kinds = [kind for kind in _KNOWN if mapping.get(kind) is not None]
    if len(kinds) != 1:
        raise FieldErrors([FieldError("schedule", 'needs exactly one of "cron", "every" and "at"')])
    kind = kinds[0]
    reader = _Reader(mapping, now)
    for name, value in mapping.items():
        if name not in _ALL_KNOWN:
            reader.refuse(shown(name)[1:-1], "is not a known field")
        elif name not in _KNOWN[kind] and value is not None and value != []:
            reader.refuse(name, f'does not go with "{kind}"')
    return _READERS[kind](reader)


def _read_cron(reader: _Reader) -> Cron:
    text = reader.take("cron", lambda value, _: parse_cron(value).text, "")
    rules, bounds = _rules(reader, "UTC"), _bounds(reader)
    reader.finish()
    return Cron(cron=text, **rules, **bounds)


def _read_every(reader: _Reader) -> Every:
    every_ms = reader.take("every", _every_ms, EVERY_MIN_MS)
    timezone = reader.take("timezone", lambda value, _: zone(value).name, "UTC")
    anchor = reader.take("anchor", _instant_reader(reader), None if reader.now is None else floor_ms(reader.now))
    bounds = _bounds(reader)
    if anchor is None:
        reader.refuse("anchor", "is missing")
    reader.finish()
    return Every(every_ms=every_ms, anchor=anchor or EPOCH, timezone=timezone, **bounds)


def _read_at(reader: _Reader) -> At:
    rules = _rules(reader, None)
    past = reader.take("past", _one_of("refuse", "run_now"), "refuse")
    text = reader.mapping["at"]
    nothing: Instants = ((MIN_INSTANT, None),)
    found = reader.take("at", lambda value, name: _instants(value, name, **rules), nothing)
    if reader.now is not None and not reader.errors and found[-1][0] <= reader.now:
        if past == "run_now":
            found = ((floor_ms(reader.now) + _MILLISECOND, None),)
            text = format_instant(found[0][0])
        else:
            reader.refuse("at", 'lies in the past; "past": "run_now" runs it at once')
    reader.finish()
    instants, notes = zip(*found, strict=True)
    return At(text=text, at=instants[0], second_at=instants[1] if len(instants) > 1 else None, notes=notes, **rules)


_READERS: dict[str, Callable[[_Reader], Schedule]] = {"cron": _read_cron, "every": _read_every, "at": _read_at}


def _rules(reader: _Reader, timezone: str | None) -> dict[str, Any]:
    return {
        "timezone": reader.take("timezone", lambda value, _: zone(value).name, timezone),
        "gap": Gap(reader.take("gap", _one_of(*Gap), "run")),
        "repeat": Repeat(reader.take("repeat", _one_of(*Repeat), "once")),
    }


def _bounds(reader: _Reader) -> dict[str, Any]:
    start_at = reader.take("start_at", _instant_reader(reader), None)
    end_at = reader.take("end_at", _instant_reader(reader), None)
    if start_at is not None and end_at is not None and end_at < start_at:
        reader.refuse("end_at", "lies before start_at")
    return {
        "start_at": start_at,
        "end_at": end_at,
        "max_runs": reader.take("max_runs", _max_runs, None),
        "exclude": reader.take("exclude", _dates, _NO_DATES),
    }


def _one_of(*allowed: str) -> Callable[[Any, str], str]:
    def read(value: Any, name: str) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise FieldError(name, "must be " + " or ".join(f'"{choice}"' for choice in allowed))
        return value

    return read


def _every_ms(value: Any, name: str) -> int:
    return duration_ms(parse_duration(value, field=name, minimum_ms=EVERY_MIN_MS, maximum_ms=EVERY_MAX_MS))


def _max_runs(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_RUNS_LIMIT:
        raise FieldError(name, f"must be a whole number from 1 to {MAX_RUNS_LIMIT}")
    return value


def _dates(value: Any, name: str) -> tuple[date, ...]:
    if not isinstance(value, list | tuple) or len(value) > EXCLUDE_MAX_DATES:
        raise FieldError(name, f'must be a list of at most {EXCLUDE_MAX_DATES} dates like "2026-12-25"')
    return tuple(sorted({_date(item, f"{name}[{index}]") for index, item in enumerate(value)}))


def _date(value: Any, name: str) -> date:
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        raise FieldError(name, f'{shown(value)} is not a date like "2026-12-25"')
    try:
        day = date(int(value[:4]), int(value[5:7]), int(value[8:]))
    except ValueError:
        raise FieldError(name, f"{value} does not exist in the calendar") from None
    if not MIN_INSTANT.date() <= day <= MAX_INSTANT.date():
        raise FieldError(name, f"must lie between the years {MIN_INSTANT.year} and {MAX_INSTANT.year}")
    return day


def _instant_reader(reader: _Reader) -> Callable[[Any, str], datetime]:
    """Reads an instant; a time without an offset is one of the schedule's zone, as `at` by default."""

    def read(value: Any, name: str) -> datetime:
        try:
            timezone = zone(reader.mapping.get("timezone")).name
        except FieldError:
            timezone = None
        return _instants(value, name, timezone, Gap.RUN, Repeat.ONCE)[0][0]

    return read


def _instants(value: Any, name: str, timezone: str | None, gap: Gap, repeat: Repeat) -> Instants:
    """One instant, or the two of a local time that comes twice; an offset in the text wins over the zone."""
    wall, offset = parse_wall_time(value, field=name)
    if offset is not None:
        return ((bounded((wall - offset).replace(tzinfo=UTC), field=name), None),)
    if timezone is None:
        raise FieldError(name, f"{shown(value)} has no offset, and there is no timezone to read it in")
    found = instants_of(wall, zone(timezone), gap_runs=gap is Gap.RUN, repeat_twice=repeat is Repeat.TWICE)
    if not found:
        raise FieldError(name, f"{value} does not exist in {timezone}: the clock passes over it")
    return tuple((bounded(instant, field=name), note) for instant, note in found)


def _checked(check: Callable[[], None]) -> None:
    try:
        check()
    except FieldError as error:
        raise FieldErrors([error]).under("schedule") from None
