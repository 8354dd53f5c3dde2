"""The clock rules against a walk that knows nothing of stretches: minute by minute, with zoneinfo alone.

Around every clock change of 2024-2030, random expressions with hours near the change must give what the walk gives,
under every setting. cronsim is a third opinion where its rule is the same. The default run takes a sample;
HOURBELL_FULL_CLOCK=1 takes every change of every zone.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hourbell.domain.clock import Zone, zone, zone_names
from hourbell.domain.schedule import count_between, includes, last_before

from tests.unit.domain.clocks import cron, inside, later, seeded, utc, zulu

FULL = os.environ.get("HOURBELL_FULL_CLOCK") == "1"
EXPRESSIONS = 30 if FULL else 8
FIRST, LAST = utc("2024-01-01T00:00Z"), utc("2031-01-01T00:00Z")
AROUND = timedelta(hours=5)
MINUTE = timedelta(minutes=1)
# The sample always has the odd ones: half an hour, 45 minutes off, two hours, midnight, two changes a month apart.
ODD = ["Australia/Lord_Howe", "Pacific/Chatham", "Antarctica/Troll", "America/Santiago", "Africa/Casablanca"]
ZONES = sorted(zone_names()) if FULL else [*seeded(5).sample(sorted(zone_names()), 50), *ODD, "Atlantic/Azores"]
SETTINGS = [(gap, repeat) for gap in ("run", "skip") for repeat in ("once", "twice")]


@dataclass(frozen=True)
class Change:
    """A clock change, and one of the zones that has it."""

    name: str
    second: int
    before: int
    after: int

    @property
    def after_text(self) -> str:
        return zulu(datetime.fromtimestamp(self.second, UTC) - AROUND)

    @property
    def until_text(self) -> str:
        return zulu(datetime.fromtimestamp(self.second, UTC) + AROUND)


def changes_of(name: str) -> Iterator[Change]:
    second, found = int(FIRST.timestamp()), zone(name)
    while second < LAST.timestamp():
        stretch = found.stretch(second)
        if stretch.before != stretch.offset and stretch.start == second:
            yield Change(name, stretch.start, stretch.before, stretch.offset)
        second = stretch.end


@cache
def chosen_changes() -> list[Change]:
    """Zones that change together between the same offsets behave the same; one of them stands for all."""
    different: dict[tuple[int, int, int], Change] = {}
    for name in ZONES:
        for change in changes_of(name):
            different.setdefault((change.second, change.before, change.after), change)
    return list(different.values()) if FULL else seeded(7).sample(list(different.values()), 40)


# --- The walk ---


def values(text: str, low: int, high: int) -> set[int]:
    """A field of plain lists, ranges and steps; nothing of the product's own reading."""
    found: set[int] = set()
    for item in text.split(","):
        span, _, step = item.partition("/")
        first, _, last = span.replace("*", f"{low}-{high}").partition("-")
        found.update(range(int(first), int(last or first) + 1, int(step or 1)))
    return found


class Walk:
    """Every minute around a change, in the order of instants."""

    def __init__(self, change: Change) -> None:
        info = ZoneInfo(change.name)
        middle = datetime.fromtimestamp(change.second, UTC)
        self.instants = [middle + MINUTE * n for n in range(1 - AROUND // MINUTE, AROUND // MINUTE + 1)]
        self.walls = [instant.astimezone(info).replace(tzinfo=None) for instant in self.instants]

    def matches(self, expression: str) -> Callable[[datetime], bool]:
        minute, hour, day, month, weekday = expression.split()
        minutes, hours, months = values(minute, 0, 59), values(hour, 0, 23), values(month, 1, 12)
        days, weekdays = values(day, 1, 31), {number % 7 for number in values(weekday, 0, 7)}
        both = day.startswith("*") or weekday.startswith("*")

        def fits(wall: datetime) -> bool:
            if wall.minute not in minutes or wall.hour not in hours or wall.month not in months:
                return False
            fitting = (wall.day in days, wall.isoweekday() % 7 in weekdays)
            return all(fitting) if both else any(fitting)

        return fits

    def found(self, expression: str) -> dict[tuple[str, str], list[str]]:
        """The instants under each pair of settings."""
        fits = self.matches(expression)
        wildcard = any(field.startswith("*") for field in expression.split()[:2])
        result: dict[tuple[str, str], list[str]] = {pair: [] for pair in SETTINGS}
        seen: set[datetime] = set()
        previous = self.walls[0] - MINUTE
        for instant, wall in zip(self.instants, self.walls, strict=True):
            missing = (wall - previous) // MINUTE - 1
            swallowed = 0 < missing < 180 and any(fits(previous + MINUTE * n) for n in range(1, missing + 1))
            regular = fits(wall)
            if regular or swallowed:
                for gap, repeat in SETTINGS:
                    moved = swallowed and not wildcard and gap == "run"
                    again = wall in seen and not wildcard and repeat == "once"
                    if moved or (regular and not again):
                        result[gap, repeat].append(zulu(instant))
            seen.add(wall)
            previous = wall
        return result


def expressions(change: Change, count: int) -> Iterator[str]:
    """With hours near the change, so that most of them meet it."""
    rng = seeded(f"{change.name} {change.second}")
    wall = datetime.fromtimestamp(change.second + change.before, UTC)
    for _ in range(count):
        hours = [str((wall.hour + rng.randint(-3, 3)) % 24) for _ in range(rng.randint(1, 3))]
        minutes = sorted({str(rng.randrange(60)) for _ in range(rng.randint(1, 4))})
        low = rng.randrange(1, 22)
        minute = rng.choice([",".join(minutes), "0", "30", "59", "0-59", "15-45/7", "*", f"*/{rng.randint(2, 59)}"])
        hour = rng.choice([",".join(hours), hours[0], f"{low}-23", f"0-{low}/2", "*", f"*/{rng.randint(2, 12)}"])
        day = rng.choice(["*", "*", str(wall.day), "*/2", "1-31"])
        weekday = rng.choice(["*", "*", str(wall.isoweekday() % 7), "0,6,7", "1-5", "*/2"])
        yield f"{minute} {hour} {day} {rng.choice(['*', str(wall.month)])} {weekday}"


@pytest.mark.parametrize("change", chosen_changes(), ids=lambda change: f"{change.name}-{change.until_text[:10]}")
def test_around_a_change(change: Change) -> None:
    walk = Walk(change)
    for expression in expressions(change, EXPRESSIONS):
        for (gap, repeat), expected in walk.found(expression).items():
            schedule = cron(expression, change.name, gap=gap, repeat=repeat)
            assert listed(schedule, change) == expected, (expression, gap, repeat)
            check_backwards_and_counted(schedule, change, expected)


def listed(schedule, change: Change) -> list[str]:
    return inside(schedule, change.after_text, change.until_text)


def check_backwards_and_counted(schedule, change: Change, expected: list[str]) -> None:
    """Looking back, counting and asking about one instant must tell the same story."""
    after, until = utc(change.after_text), utc(change.until_text)
    assert count_between(schedule, None, after, until, cap=10_000) == len(expected)
    backwards, instant = [], until
    while (found := last_before(schedule, None, instant)) is not None and found.scheduled_for > after:
        backwards.append(zulu(found.scheduled_for))
        instant = later(found.scheduled_for, milliseconds=-1)
    assert backwards[::-1] == expected
    assert all(includes(schedule, None, utc(text)) for text in expected[:3])


def cronsim_errs(change: Change) -> bool:
    """At a change of other than one hour, at one between full hours, and at one that takes midnight away."""
    wall = change.second + change.before
    midnight = change.after > change.before and wall % 86_400 == 0
    return abs(change.after - change.before) != 3_600 or wall % 3_600 != 0 or midnight


@pytest.mark.parametrize("change", chosen_changes(), ids=lambda change: f"{change.name}-{change.until_text[:10]}")
def test_cronsim_agrees(change: Change) -> None:
    if cronsim_errs(change):
        pytest.skip("cronsim loses times here; the walk above is the judge")
    for expression in expressions(change, EXPRESSIONS):
        start = (datetime.fromtimestamp(change.second, UTC) - AROUND).astimezone(ZoneInfo(change.name))
        theirs: list[str] = []
        for found in CronSim(expression, start):
            instant = found.astimezone(UTC)
            if instant > utc(change.until_text):
                break
            if instant > utc(change.after_text):
                theirs.append(zulu(instant))
        assert listed(cron(expression, change.name), change) == sorted(set(theirs)), expression


# --- What the rules stand on ---


def test_no_two_changes_are_closer_than_we_look() -> None:
    closest = min(second.second - first.second for name in ZONES for first, second in pairwise(changes_of(name)))
    assert closest > 6 * 86_400


@pytest.mark.parametrize("name", ZONES if FULL else ZONES[-6:])
def test_every_change_is_known(name: str) -> None:
    info, second = ZoneInfo(name), int(FIRST.timestamp())
    known: Zone = zone(name)
    while second < LAST.timestamp():
        expected = datetime.fromtimestamp(second, info).utcoffset()
        assert timedelta(seconds=known.stretch(second).offset) == expected, second
        second += 3_600
