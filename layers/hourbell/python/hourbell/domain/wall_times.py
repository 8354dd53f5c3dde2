"""Which days, and which times of a day: the enumeration behind a cron expression, on a clock without a zone.

A wall time is a count of seconds since 1970-01-01T00:00 on that clock. Every search is a few bit and list operations
a month, and ends with the last year there is; counting never walks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from datetime import date

from hourbell.domain.limits import MAX_INSTANT

DAY = 86_400
EPOCH_DAY = date(1970, 1, 1).toordinal()
MONTH_LENGTHS = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _length(year: int, month: int) -> int:
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if leap else MONTH_LENGTHS[month]


@dataclass(frozen=True, slots=True, eq=False)
class DayRule:
    """Which days of which months; a month's days are a bit mask, bit 1 the first.

    Debian's rule: a day fits when either day field fits; when one of them starts with `*`, both must.
    """

    months: frozenset[int]
    both: bool
    days: frozenset[int]
    last: frozenset[int]
    last_workday: frozenset[int]
    nearest_workday: frozenset[int]
    weekdays: frozenset[int]
    last_weekday: frozenset[int]
    nth_weekday: frozenset[tuple[int, int]]
    _patterns: dict[tuple[int, int, int], int] = field(default_factory=dict, repr=False)

    @property
    def relative_days(self) -> bool:
        """Whether the day of month holds L or W."""
        return bool(self.last or self.last_workday or self.nearest_workday)

    @property
    def any_weekday(self) -> bool:
        """Whether the day of week lets every day pass."""
        return self.both and len(self.weekdays) == 7

    def mask(self, year: int, month: int, first_ordinal: int) -> int:
        """The days of one month, whose first day has this proleptic ordinal."""
        if month not in self.months:
            return 0
        key = (month, first_ordinal % 7, _length(year, month))
        mask = self._patterns.get(key)
        if mask is None:
            mask = self._patterns[key] = self.pattern(*key)
        return mask

    def pattern(self, month: int, first_weekday: int, length: int) -> int:
        """The days of a month of this length whose first day is this weekday (0 = Sunday). At most 98 kinds."""
        if month not in self.months:
            return 0
        by_day = self._by_day(first_weekday, length)
        by_weekday = self._by_weekday(first_weekday, length)
        return by_day & by_weekday if self.both else by_day | by_weekday

    def _by_day(self, first_weekday: int, length: int) -> int:
        days = {day for day in self.days if day <= length}
        days.update(length - before for before in self.last if before < length)
        near = {day for day in self.nearest_workday if day <= length}
        near.update(length - before for before in self.last_workday if before < length)
        days.update(_nearest_workday(day, first_weekday, length) for day in near)
        return sum(1 << day for day in days)

    def _by_weekday(self, first_weekday: int, length: int) -> int:
        mask = 0
        for day in range(1, length + 1):
            weekday = (first_weekday + day - 1) % 7
            last = day + 7 > length and weekday in self.last_weekday
            if last or weekday in self.weekdays or (weekday, (day + 6) // 7) in self.nth_weekday:
                mask |= 1 << day
        return mask


def _nearest_workday(day: int, first_weekday: int, length: int) -> int:
    """Monday to Friday nearest to the day, never in another month (Quartz W)."""
    weekday = (first_weekday + day - 1) % 7
    if weekday == 6:
        return day - 1 if day > 1 else day + 2
    if weekday == 0:
        return day + 1 if day < length else day - 2
    return day


class WallTimes:
    """The wall times of one expression. A wall time is a count of seconds since 1970-01-01T00:00 without a zone."""

    __slots__ = ("days", "first_time", "hours", "last_time", "minutes", "per_day", "seconds")

    def __init__(
        self, seconds: tuple[int, ...], minutes: tuple[int, ...], hours: tuple[int, ...], days: DayRule
    ) -> None:
        self.seconds, self.minutes, self.hours, self.days = seconds, minutes, hours, days
        self.first_time = hours[0] * 3_600 + minutes[0] * 60 + seconds[0]
        self.last_time = hours[-1] * 3_600 + minutes[-1] * 60 + seconds[-1]
        self.per_day = len(hours) * len(minutes) * len(seconds)

    def next_from(self, wall: int) -> int | None:
        """The first of them at or after `wall`; None past the last year there is."""
        number, second = divmod(wall, DAY)
        day = date.fromordinal(number + EPOCH_DAY)
        mask = self.days.mask(day.year, day.month, number + EPOCH_DAY - day.day + 1)
        if mask >> day.day & 1:
            time = self._time_from(second)
            if time >= 0:
                return number * DAY + time
        following = self._day_after(day, mask)
        return None if following is None else (following - EPOCH_DAY) * DAY + self.first_time

    def last_until(self, wall: int) -> int | None:
        """The last of them at or before `wall`; None before 1970."""
        number, second = divmod(wall, DAY)
        day = date.fromordinal(number + EPOCH_DAY)
        mask = self.days.mask(day.year, day.month, number + EPOCH_DAY - day.day + 1)
        if mask >> day.day & 1:
            time = self._time_until(second)
            if time >= 0:
                return number * DAY + time
        previous = self._day_before(day, mask)
        return None if previous is None else (previous - EPOCH_DAY) * DAY + self.last_time

    def count(self, start: int, end: int) -> int:
        """How many lie in [start, end); the work grows with the months in between, not with the answer."""
        return max(0, self._rank(end) - self._rank(start) + self.per_day * self._count_days(start, end))

    def _time_from(self, second: int) -> int:
        hour, minute = second // 3_600, second // 60 % 60
        i = bisect_left(self.hours, hour)
        if i < len(self.hours) and self.hours[i] == hour:
            j = bisect_left(self.minutes, minute)
            if j < len(self.minutes) and self.minutes[j] == minute:
                k = bisect_left(self.seconds, second % 60)
                if k < len(self.seconds):
                    return hour * 3_600 + minute * 60 + self.seconds[k]
                j += 1
            if j < len(self.minutes):
                return hour * 3_600 + self.minutes[j] * 60 + self.seconds[0]
            i += 1
        if i < len(self.hours):
            return self.hours[i] * 3_600 + self.minutes[0] * 60 + self.seconds[0]
        return -1

    def _time_until(self, second: int) -> int:
        hour, minute = second // 3_600, second // 60 % 60
        i = bisect_right(self.hours, hour) - 1
        if i >= 0 and self.hours[i] == hour:
            j = bisect_right(self.minutes, minute) - 1
            if j >= 0 and self.minutes[j] == minute:
                k = bisect_right(self.seconds, second % 60) - 1
                if k >= 0:
                    return hour * 3_600 + minute * 60 + self.seconds[k]
                j -= 1
            if j >= 0:
                return hour * 3_600 + self.minutes[j] * 60 + self.seconds[-1]
            i -= 1
        if i >= 0:
            return self.hours[i] * 3_600 + self.minutes[-1] * 60 + self.seconds[-1]
        return -1

    def _day_after(self, day: date, mask: int) -> int | None:
        year, month = day.year, day.month
        first = day.toordinal() - day.day + 1
        mask = mask >> day.day + 1 << day.day + 1
        while not mask:
            first += _length(year, month)
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
            if year > MAX_INSTANT.year:
                return None
            mask = self.days.mask(year, month, first)
        return first + (mask & -mask).bit_length() - 2

    def _day_before(self, day: date, mask: int) -> int | None:
        year, month = day.year, day.month
        first = day.toordinal() - day.day + 1
        mask &= (1 << day.day) - 1
        while not mask:
            year, month = (year, month - 1) if month > 1 else (year - 1, 12)
            if year < 1970:
                return None
            first -= _length(year, month)
            mask = self.days.mask(year, month, first)
        return first + mask.bit_length() - 2

    def _rank(self, wall: int) -> int:
        """How many lie on the day of `wall` before it."""
        number, second = divmod(wall, DAY)
        day = date.fromordinal(number + EPOCH_DAY)
        if not self.days.mask(day.year, day.month, number + EPOCH_DAY - day.day + 1) >> day.day & 1:
            return 0
        hour, minute = second // 3_600, second // 60 % 60
        i = bisect_left(self.hours, hour)
        count = i * len(self.minutes) * len(self.seconds)
        if i < len(self.hours) and self.hours[i] == hour:
            j = bisect_left(self.minutes, minute)
            count += j * len(self.seconds)
            if j < len(self.minutes) and self.minutes[j] == minute:
                count += bisect_left(self.seconds, second % 60)
        return count

    def _count_days(self, start: int, end: int) -> int:
        """Fitting days from the day of `start` up to, not including, the day of `end`."""
        day, last = date.fromordinal(start // DAY + EPOCH_DAY), end // DAY + EPOCH_DAY
        year, month, first = day.year, day.month, day.toordinal() - day.day + 1
        skipped = day.day
        total = 0
        while first < last:
            mask = self.days.mask(year, month, first) >> skipped
            if first + 31 > last:
                mask &= (1 << max(0, last - first + 1 - skipped)) - 1
            total += mask.bit_count()
            first += _length(year, month)
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
            skipped = 0
        return total
