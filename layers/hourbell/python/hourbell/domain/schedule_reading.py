"""A schedule from the API's shape and back. Every bad field is named, all at once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any, TypeVar

from hourbell.domain.clock import instants_of, zone
from hourbell.domain.cron import parse_cron
from hourbell.domain.durations import duration_ms, format_duration, parse_duration
from hourbell.domain.errors import FieldError, FieldErrors, shown
from hourbell.domain.instants import EPOCH, bounded, floor_ms, format_instant, parse_wall_time
from hourbell.domain.limits import (
    EVERY_MAX_MS,
    EVERY_MIN_MS,
    EXCLUDE_MAX_DATES,
    MAX_INSTANT,
    MAX_RUNS_LIMIT,
    MIN_INSTANT,
)
from hourbell.domain.schedule_kinds import At, Cron, Every, Gap, Repeat, Schedule

Instants = tuple[tuple[datetime, str | None], ...]
Value = TypeVar("Value")
_MILLISECOND = timedelta(milliseconds=1)
_NO_DATES: tuple[date, ...] = ()
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_BOUNDS = ("start_at", "end_at", "max_runs", "exclude")
_KNOWN = {
    "cron": ("cron", "timezone", "gap", "repeat", *_BOUNDS),
    "every": ("every", "anchor", "timezone", *_BOUNDS),
    "at": ("at", "timezone", "gap", "repeat", "past"),
}
_ALL_KNOWN = frozenset(name for names in _KNOWN.values() for name in names)


@lru_cache(maxsize=8_192)
def schedule_from_json(text: str) -> Schedule:
    """From what the database kept (the JSON of `to_mapping`): no check against the present, parsed once per text.

    Raises `FieldErrors` when it is no longer accepted: a zone that was removed, say.
    """
    try:
        mapping = json.loads(text)
    except ValueError:
        raise FieldErrors([FieldError("schedule", "is not JSON")]) from None
    return read_schedule(mapping, None)


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


def read_schedule(mapping: object, now: datetime | None) -> Schedule:
    """Raises `FieldErrors`. With `now`, an `at` in the past is refused and a missing anchor filled in."""
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
    if not isinstance(value, str) or not re.fullmatch(_DATE, value):
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
