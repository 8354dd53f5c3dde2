"""From wall times to instants: the clock rules.

A zone is a row of stretches during which its offset from UTC stands still; inside one, wall times and instants are the
same thing shifted. All rules therefore speak about the edges:

    start                                                   end
      │◀─ repeated ─▶│                                        │      offset: ours, `before`: the previous one's
      └──────────────┴────────────────────────────────────────┘

- The clock went forward at `start` (offset > before): the wall times in between do not exist. A fixed time among them
  fires once, at `start` (gap "run"), or not at all ("skip"). Three hours or more are a correction of the calendar:
  nothing fires. Interval-like schedules invent nothing.
- The clock went back at `start` (offset < before): the first `before - offset` seconds were on the clock already. A
  fixed time among them has fired then (repeat "once"), or fires again ("twice"). Interval-like schedules run in both.

Instants are whole seconds since 1970 in UTC; they are compared in no other form, since Python ignores `fold` when it
compares two times of one zone (PEP 495). Zone data comes from the pinned tzdata package, whatever the machine has.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

from hourbell.domain.errors import FieldError, HourbellError, shown
from hourbell.domain.instants import EPOCH
from hourbell.domain.limits import CALENDAR_GAP_SECONDS, MAX_INSTANT, ZONE_MAX_LENGTH
from hourbell.domain.wall_times import DAY, WallTimes

LAST_SECOND = int((MAX_INSTANT - EPOCH) / timedelta(seconds=1))
_YEAR = 366 * DAY
# Zones change at most once in six days (a test walks all of them); each change is found by looking every three.
_STEP = 3 * DAY
_TZDATA = import_module("tzdata")
_ZONES = Path(*_TZDATA.__path__)
_NAME = r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,3}"
_OFFSET_ONLY = r"(?:Etc/)?(?:GMT|UTC)[+-].*|EST|MST|HST|[+-].*"
_FIRST_OF_TWO = "first pass of a time that comes twice"
_SECOND_OF_TWO = "second pass of a time that comes twice"
_FIRST_ALONE = "this time comes twice; it runs in the first pass"
SELF_CHECK_ZONES = ("Asia/Singapore", "America/Vancouver", "Europe/Dublin", "Australia/Lord_Howe", "UTC")


class ZoneDataError(HourbellError):
    """The pinned zone data cannot be read."""


# --- Zones ---


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """Every accepted name, aliases included."""
    names = frozenset((_ZONES / "zones").read_text(encoding="ascii").split())
    return frozenset(name for name in names if name != "Factory" and not re.fullmatch(_OFFSET_ONLY, name))


def zone_data_version() -> str:
    """The IANA release, like "2026f": when it changes, stored next times are worked out again."""
    return str(_TZDATA.IANA_VERSION)


def check_zone_data() -> None:
    """For start-up: fail the deployment, not the jobs, when the zone data is missing."""
    for name in SELF_CHECK_ZONES:
        try:
            zone(name)
        except (FieldError, OSError, ValueError) as error:
            raise ZoneDataError(f"zone data for {name} cannot be read: {error}") from error


def zone(name: object) -> Zone:
    """The zone of an IANA name, as spelled; raises `FieldError("timezone", …)`."""
    if not isinstance(name, str):
        raise FieldError("timezone", 'must be the name of a zone as text, like "Europe/Paris"')
    if len(name) > ZONE_MAX_LENGTH:
        raise FieldError("timezone", f"longer than {ZONE_MAX_LENGTH} characters")
    if re.fullmatch(_OFFSET_ONLY, name):
        raise FieldError("timezone", f"{shown(name)} is an offset, not a zone: name a place, like America/New_York")
    if not re.fullmatch(_NAME, name) or name not in zone_names():
        meant = next((other for other in zone_names() if other.lower() == name.lower()), None)
        advice = f"; {meant} is" if meant else ""
        raise FieldError("timezone", f"{shown(name)} is not a zone of the IANA data {zone_data_version()}{advice}")
    return _load(name)


@lru_cache(maxsize=1_024)
def _load(name: str) -> Zone:
    with (_ZONES / "zoneinfo" / name).open("rb") as file:
        return Zone(ZoneInfo.from_file(file, key=name))


class Stretch(NamedTuple):
    """From `start` to before `end` the offset stands still; `before` and `after` are the neighbours' offsets."""

    start: int
    end: int
    offset: int
    before: int
    after: int


class _Known(NamedTuple):
    """The stretches that fill [start, end), and where each but the first begins."""

    start: int
    end: int
    changes: list[int]
    stretches: list[Stretch]


class Zone:
    """A zone as stretches, worked out from zoneinfo as far as anyone has asked, and kept."""

    __slots__ = ("_known", "info", "name")

    def __init__(self, info: ZoneInfo) -> None:
        self.info = info
        self.name = info.key
        self._known = _Known(0, 0, [], [])

    def stretch(self, second: int) -> Stretch:
        """The stretch that holds this instant."""
        known = self._known
        if not known.start <= second < known.end:
            known = self._known = self._look(second)
        return known.stretches[bisect_right(known.changes, second)]

    def local(self, second: int) -> datetime:
        """The aware local time of an instant."""
        return (EPOCH + timedelta(seconds=second)).astimezone(self.info)

    def spans_of_day(self, day: int) -> Iterator[tuple[int, int]]:
        """The instants [start, end) at which the local date is this day (days since 1970), in order."""
        second = day * DAY - DAY
        while second < (day + 2) * DAY:
            stretch = self.stretch(second)
            start = max(stretch.start, day * DAY - stretch.offset)
            end = min(stretch.end, (day + 1) * DAY - stretch.offset)
            if start < end:
                yield start, end
            second = stretch.end

    def _look(self, second: int) -> _Known:
        """Grow what is known by at least its own length, so that walking far stays linear."""
        known = self._known
        if known.start == known.end:
            start, end = second - _YEAR, second + 2 * _YEAR
        else:
            reach = known.end - known.start
            start = known.start if second >= known.start else min(second - _YEAR, known.start - reach)
            end = known.end if second < known.end else max(second + _YEAR, known.end + reach)
        start, end = max(start, -_YEAR), min(end, LAST_SECOND + _YEAR)
        # A margin on both sides: what happens just outside bears on the times just inside.
        probes = range(start - _STEP, end + 2 * _STEP, _STEP)
        changes: list[int] = []
        offsets = [self._offset(probes[0])]
        for probe in probes[1:]:
            offset = self._offset(probe)
            if offset != offsets[-1]:
                changes.append(self._change(probe - _STEP, probe, offset))
                offsets.append(offset)
        return _Known(start, end, changes, _stretches(changes, offsets, probes[0], probes[-1] + 1))

    def _change(self, low: int, high: int, offset: int) -> int:
        """The first instant in (low, high] with this offset."""
        while high - low > 1:
            middle = (low + high) // 2
            if self._offset(middle) == offset:
                high = middle
            else:
                low = middle
        return high

    def _offset(self, second: int) -> int:
        offset = self.local(second).utcoffset()
        return 0 if offset is None else offset.days * DAY + offset.seconds


def _stretches(changes: list[int], offsets: list[int], start: int, end: int) -> list[Stretch]:
    starts, ends = [start, *changes], [*changes, end]
    befores, afters = [offsets[0], *offsets[:-1]], [*offsets[1:], offsets[-1]]
    return [Stretch(*each) for each in zip(starts, ends, offsets, befores, afters, strict=True)]


# --- Recurring wall times in a zone ---


@dataclass(frozen=True, slots=True, kw_only=True)
class ZonedTimes:
    """The instants of recurring wall times in a zone, under the rules at the top."""

    times: WallTimes
    zone: Zone
    interval_like: bool
    gap_runs: bool
    repeat_twice: bool
    excluded: frozenset[int] = frozenset()  # local dates, as days since 1970

    def next_from(self, second: int) -> tuple[int, str | None] | None:
        """The first instant at or after `second`, and a note when a clock change concerns it."""
        while second <= LAST_SECOND:
            stretch = self.zone.stretch(second)
            start, end, offset, before, _ = stretch
            low = second + offset
            if before < offset:
                if second == start and self._allowed(low) and (moved := self._moved(stretch)) is not None:
                    return second, f"shifted by the clock change from {_clock(moved)}"
            elif before > offset:
                low = max(second, self._first_pass_end(stretch)) + offset
            wall = self.times.next_from(low)
            if wall is None:
                return None
            if wall - offset >= end:
                second = self._leap(stretch, low, wall)
            elif self.excluded and not self._allowed(wall):
                second = min(end, (wall // DAY + 1) * DAY - offset)
            else:
                return (wall - offset, self._note(stretch, wall - offset)) if wall - offset <= LAST_SECOND else None
        return None

    def last_until(self, second: int) -> tuple[int, str | None] | None:
        """The last instant at or before `second`."""
        second = min(second, LAST_SECOND)
        while second >= 0:
            stretch = self.zone.stretch(second)
            high = second + stretch.offset
            wall = self.times.last_until(high)
            if wall is not None and wall - stretch.offset >= self._first_pass_end(stretch):
                found = wall - stretch.offset
                if found < 0:
                    return None
                if wall // DAY not in self.excluded:
                    return found, self._note(stretch, found)
                second = max(wall // DAY * DAY - stretch.offset, self._first_pass_end(stretch)) - 1
                continue
            if self._allowed(stretch.start + stretch.offset) and (moved := self._moved(stretch)) is not None:
                return stretch.start, f"shifted by the clock change from {_clock(moved)}"
            at_the_edge = second - stretch.start < DAY  # the stretch before may hold times after `high`
            second = stretch.start - 1
            if wall is None and not at_the_edge:
                return None
            if wall is not None and not at_the_edge:
                second = min(second, wall - stretch.offset + 2 * DAY)
        return None

    def count(self, start: int, end: int) -> int:
        """How many instants lie in [start, end); the work grows with months and clock changes, not with the answer."""
        start, end = max(start, 0), min(end, LAST_SECOND + 1)
        total = self._count(start, end)
        for day in self.excluded:
            for low, high in self.zone.spans_of_day(day):
                total -= self._count(max(low, start), min(high, end))
        return total

    def dropped(self, start: int, end: int) -> Iterator[int]:
        """Wall times that the clock changes in [start, end] leave out: the first of each gap."""
        second = start
        while second < end:
            stretch = self.zone.stretch(second)
            second = stretch.end
            if second > end:  # what lies further need not be known: in UTC that would be all of time
                return
            following = self.zone.stretch(second)
            if following.start == second and self._moved(following) is None:
                wall = self.times.next_from(following.start + following.before)
                if wall is not None and wall < following.start + following.offset:
                    yield wall

    def _count(self, start: int, end: int) -> int:
        total, second = 0, start
        while second < end:
            stretch = self.zone.stretch(second)
            low = max(second, self._first_pass_end(stretch)) + stretch.offset
            high = min(end, stretch.end) + stretch.offset
            if low < high:
                total += self.times.count(low, high)
            if second == stretch.start and self._moved(stretch) is not None:
                total += self.times.next_from(stretch.start + stretch.offset) != stretch.start + stretch.offset
            second = stretch.end
        return total

    def _moved(self, stretch: Stretch) -> int | None:
        """The wall time that fires at the start of the stretch, because the gap before it swallowed it."""
        length = stretch.offset - stretch.before
        if not 0 < length < CALENDAR_GAP_SECONDS or self.interval_like or not self.gap_runs:
            return None
        wall = self.times.next_from(stretch.start + stretch.before)
        return wall if wall is not None and wall < stretch.start + stretch.offset else None

    def _first_pass_end(self, stretch: Stretch) -> int:
        """Until here the stretch repeats wall times that have fired before."""
        if stretch.before > stretch.offset and not self.interval_like and not self.repeat_twice:
            return stretch.start + stretch.before - stretch.offset
        return stretch.start

    def _leap(self, stretch: Stretch, low: int, wall: int) -> int:
        """Where to go on when the next wall time lies past this stretch: no stretch further than can matter."""
        far = wall - 2 * DAY
        at_the_edge = stretch.end + stretch.offset - low < DAY  # a change there may bring back times before `low`
        return stretch.end if at_the_edge else max(stretch.end, far)

    def _allowed(self, wall: int) -> bool:
        return wall // DAY not in self.excluded

    def _note(self, stretch: Stretch, second: int) -> str | None:
        start, end, offset, before, after = stretch
        if after < offset and second >= end - (offset - after):
            return _FIRST_OF_TWO if self.interval_like or self.repeat_twice else _FIRST_ALONE
        if before > offset and second < start + (before - offset):
            return _SECOND_OF_TWO
        return None


def _clock(wall: int) -> str:
    text = (EPOCH + timedelta(seconds=wall)).strftime("%H:%M:%S")
    return text.removesuffix(":00")


def wall_text(wall: int) -> str:
    """A wall time for people: "2026-03-08 02:30"."""
    return (EPOCH + timedelta(seconds=wall)).strftime("%Y-%m-%d ") + _clock(wall)


# --- One wall time ---


def instants_of(
    wall: datetime, zone: Zone, *, gap_runs: bool, repeat_twice: bool
) -> tuple[tuple[datetime, str | None], ...]:
    """The UTC instants of one naive wall time, each with its note: two for a repeated one with "twice".

    In a gap, "run" moves the clock on by the length of the gap, so 02:30 becomes 03:30 (the "compatible" rule of
    Temporal and RFC 5545). With "skip", and on a skipped day, there is none.
    """
    first, second = (wall.replace(tzinfo=zone.info, fold=fold).utcoffset() or timedelta() for fold in (0, 1))
    early, late = ((wall - offset).replace(tzinfo=UTC) for offset in (first, second))
    if first == second:
        return ((early, None),)
    if first > second:
        return ((early, _FIRST_OF_TWO), (late, _SECOND_OF_TWO)) if repeat_twice else ((early, _FIRST_ALONE),)
    if not gap_runs or second - first >= timedelta(seconds=CALENDAR_GAP_SECONDS):
        return ()
    return ((early, f"shifted by the clock change from {wall:%H:%M}"),)
