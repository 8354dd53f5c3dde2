"""Which days, and which times of a day: the enumeration behind a cron expression, on a clock without a zone.

A wall time is a count of seconds since 1970-01-01T00:00 on that clock; a month's days are a bit mask, bit 1 the first.
Every search is a few bit and list operations a month, skips the months that are not asked for, and ends with the last
year there is. Counting never walks from one time to the next.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from datetime import date

from hourbell.domain.limits import MAX_INSTANT

DAY = 86_400
EPOCH_DAY = date(1970, 1, 1).toordinal()
MONTH_LENGTHS = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_FIRST_YEAR, _LAST_YEAR = 1970, MAX_INSTANT.year
# The Sundays of a month that begins with a Sunday; other weekdays are the same, shifted.
_EVERY_SEVENTH = sum(1 << day for day in range(1, 32, 7))


@dataclass(frozen=True, slots=True, kw_only=True)
class DayRule:
    """Which days a month has, given its length and the weekday (0 = Sunday) of its first.

    Debian's rule: a day fits when either day field fits; when one of them starts with `*`, both must.
    """

    months: frozenset[int]
    both: bool
    days: frozenset[int]
    last: frozenset[int]  # days before the last: 0 is L, 3 is L-3
    last_workday: frozenset[int]  # 0 is LW
    nearest_workday: frozenset[int]  # 15 is 15W
    weekdays: frozenset[int]
    last_weekday: frozenset[int]  # 5 is 5L
    nth_weekday: frozenset[tuple[int, int]]  # (5, 2) is 5#2

    @property
    def plain_days_only(self) -> bool:
        """Whether the day fields come down to numbers of days: no L, no W, every weekday."""
        relative = self.last or self.last_workday or self.nearest_workday
        return bool(self.days) and not relative and self.both and len(self.weekdays) == 7

    def mask(self, first_weekday: int, length: int) -> int:
        """The days of such a month."""
        days, weekdays = self._days(first_weekday, length), self._weekdays(first_weekday, length)
        return days & weekdays if self.both else days | weekdays

    def _days(self, first_weekday: int, length: int) -> int:
        days = {day for day in self.days if day <= length}
        days.update(length - before for before in self.last if before < length)
        near = {day for day in self.nearest_workday if day <= length}
        near.update(length - before for before in self.last_workday if before < length)
        days.update(_nearest_workday(day, first_weekday, length) for day in near)
        return sum(1 << day for day in days)

    def _weekdays(self, first_weekday: int, length: int) -> int:
        mask = 0
        for weekday in self.weekdays:
            mask |= _days_of(weekday, first_weekday)
        for weekday in self.last_weekday:
            mask |= _days_of(weekday, first_weekday) & 0b1111111 << length - 6
        for weekday, nth in self.nth_weekday:
            mask |= _days_of(weekday, first_weekday) & 0b1111111 << nth * 7 - 6
        return mask & (2 << length) - 1


def _days_of(weekday: int, first_weekday: int) -> int:
    return _EVERY_SEVENTH << (weekday - first_weekday) % 7


def _nearest_workday(day: int, first_weekday: int, length: int) -> int:
    """Monday to Friday nearest to the day, never in another month (Quartz W)."""
    weekday = (first_weekday + day - 1) % 7
    if weekday == 6:
        return day - 1 if day > 1 else day + 2
    if weekday == 0:
        return day + 1 if day < length else day - 2
    return day


class Days:
    """The days of one rule, by month: worked out when first asked for, and kept."""

    __slots__ = ("_ahead", "_behind", "_masks", "rule")

    def __init__(self, rule: DayRule) -> None:
        self.rule = rule
        months = sorted(rule.months)
        self._ahead = [months[bisect_right(months, month) % len(months)] for month in range(13)]
        self._behind = [months[bisect_left(months, month) - 1] for month in range(13)]
        self._masks: dict[int, int] = {}

    def mask(self, first: int) -> int:
        """The days of the month whose first day has this ordinal."""
        mask = self._masks.get(first)
        if mask is None:
            day = date.fromordinal(first)
            fits = day.month in self.rule.months
            mask = self.rule.mask(first % 7, month_length(day.year, day.month)) if fits else 0
            self._masks[first] = mask
        return mask

    def first_after(self, year: int, month: int) -> int | None:
        """The ordinal of the first day in a later month."""
        while True:
            month, previous = self._ahead[month], month
            year += month <= previous
            if year > _LAST_YEAR:
                return None
            first = date(year, month, 1).toordinal()
            if mask := self.mask(first):
                return first + (mask & -mask).bit_length() - 2

    def last_before(self, year: int, month: int) -> int | None:
        """The ordinal of the last day in an earlier month."""
        while True:
            month, previous = self._behind[month], month
            year -= month >= previous
            if year < _FIRST_YEAR:
                return None
            first = date(year, month, 1).toordinal()
            if mask := self.mask(first):
                return first + mask.bit_length() - 2

    def count(self, low: int, high: int) -> int:
        """How many have an ordinal in [low, high)."""
        day = date.fromordinal(low)
        year, month, first = day.year, day.month, low - day.day + 1
        total = -(self.mask(first) & (1 << day.day) - 1).bit_count()
        while first + (length := month_length(year, month)) <= high:
            total += self.mask(first).bit_count()
            first += length
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
        return total + (self.mask(first) & (1 << high - first + 1) - 1).bit_count()


class WallTimes:
    """The wall times of one expression: sorted lists for the time of day, and the days."""

    __slots__ = ("_first", "_last", "days", "hours", "minutes", "seconds")

    def __init__(self, seconds: tuple[int, ...], minutes: tuple[int, ...], hours: tuple[int, ...], days: Days) -> None:
        self.seconds, self.minutes, self.hours, self.days = seconds, minutes, hours, days
        self._first = hours[0] * 3_600 + minutes[0] * 60 + seconds[0]
        self._last = hours[-1] * 3_600 + minutes[-1] * 60 + seconds[-1]

    def next_from(self, wall: int) -> int | None:
        """The first of them at or after `wall`; None past the last year there is."""
        ordinal, second = wall // DAY + EPOCH_DAY, wall % DAY
        day = date.fromordinal(ordinal)
        mask = self.days.mask(ordinal - day.day + 1) >> day.day
        if mask & 1 and (time := self._time_from(second)) >= 0:
            return wall - second + time
        mask >>= 1
        if mask:
            return wall - second + (mask & -mask).bit_length() * DAY + self._first
        following = self.days.first_after(day.year, day.month)
        return None if following is None else (following - EPOCH_DAY) * DAY + self._first

    def last_until(self, wall: int) -> int | None:
        """The last of them at or before `wall`; None before 1970."""
        ordinal, second = wall // DAY + EPOCH_DAY, wall % DAY
        day = date.fromordinal(ordinal)
        first = ordinal - day.day + 1
        mask = self.days.mask(first)
        if mask >> day.day & 1 and (time := self._time_until(second)) >= 0:
            return wall - second + time
        mask &= (1 << day.day) - 1
        previous = first + mask.bit_length() - 2 if mask else self.days.last_before(day.year, day.month)
        return None if previous is None else (previous - EPOCH_DAY) * DAY + self._last

    def count(self, start: int, end: int) -> int:
        """How many lie in [start, end); the work grows with the months in between, not with the answer."""
        if start >= end:
            return 0
        days = self.days.count(start // DAY + EPOCH_DAY, end // DAY + EPOCH_DAY)
        per_day = len(self.hours) * len(self.minutes) * len(self.seconds)
        return self._rank(end) - self._rank(start) + per_day * days

    def _time_from(self, second: int) -> int:
        """The first time of day at or after this one, -1 when there is none."""
        hours, minutes = self.hours, self.minutes
        minute, second = divmod(second, 60)
        hour, minute = divmod(minute, 60)
        i = bisect_left(hours, hour)
        if i < len(hours) and hours[i] == hour:
            j = bisect_left(minutes, minute)
            if j < len(minutes) and minutes[j] == minute:
                k = bisect_left(self.seconds, second)
                if k < len(self.seconds):
                    return hour * 3_600 + minute * 60 + self.seconds[k]
                j += 1
            if j < len(minutes):
                return hour * 3_600 + minutes[j] * 60 + self.seconds[0]
            i += 1
        return hours[i] * 3_600 + minutes[0] * 60 + self.seconds[0] if i < len(hours) else -1

    def _time_until(self, second: int) -> int:
        """The last time of day at or before this one, -1 when there is none."""
        hours, minutes = self.hours, self.minutes
        minute, second = divmod(second, 60)
        hour, minute = divmod(minute, 60)
        i = bisect_right(hours, hour) - 1
        if i >= 0 and hours[i] == hour:
            j = bisect_right(minutes, minute) - 1
            if j >= 0 and minutes[j] == minute:
                k = bisect_right(self.seconds, second) - 1
                if k >= 0:
                    return hour * 3_600 + minute * 60 + self.seconds[k]
                j -= 1
            if j >= 0:
                return hour * 3_600 + minutes[j] * 60 + self.seconds[-1]
            i -= 1
        return hours[i] * 3_600 + minutes[-1] * 60 + self.seconds[-1] if i >= 0 else -1

    def _rank(self, wall: int) -> int:
        """How many lie on the day of `wall`, before it."""
        ordinal = wall // DAY + EPOCH_DAY
        day = date.fromordinal(ordinal)
        if not self.days.mask(ordinal - day.day + 1) >> day.day & 1:
            return 0
        minute, second = divmod(wall % DAY, 60)
        hour, minute = divmod(minute, 60)
        i, j, k = bisect_left(self.hours, hour), bisect_left(self.minutes, minute), bisect_left(self.seconds, second)
        count = i * len(self.minutes) * len(self.seconds)
        if i < len(self.hours) and self.hours[i] == hour:
            count += j * len(self.seconds)
            if j < len(self.minutes) and self.minutes[j] == minute:
                count += k
        return count


def month_length(year: int, month: int) -> int:
    """Days of a month of the Gregorian calendar."""
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if leap else MONTH_LENGTHS[month]
