"""The clock of a test's engine. What the engine trusts is the database's clock, so that is the one that is set.

The statements of the store ask ``clock_timestamp()``. In a test's database the search path finds the one of the schema
``hourbell_testing`` first, which reads a row.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg

from hourbell.domain.instants import floor_ms, parse_instant

SEARCH_PATH = "hourbell_testing, pg_catalog, public"

INSTALL = """
create schema hourbell_testing;
create table hourbell_testing.clock (now timestamptz not null);
insert into hourbell_testing.clock values (pg_catalog.clock_timestamp());
create function hourbell_testing.clock_timestamp() returns timestamptz
language sql as 'select now from hourbell_testing.clock';
grant usage on schema hourbell_testing to public;
grant select on hourbell_testing.clock to public;
"""


class Clock:
    """Stands still until it is set. It never goes back."""

    def __init__(self, connection: psycopg.Connection[tuple[object, ...]], now: datetime | str) -> None:
        self._connection = connection
        self._now = as_instant(now)
        self._store()

    def __call__(self) -> datetime:
        """Answer the time, as the engine asks for it."""
        return self._now

    @property
    def now(self) -> datetime:
        """The time, in UTC, to the millisecond."""
        return self._now

    def set(self, instant: datetime | str) -> None:
        """Jump to an instant. To the engine this is an outage: what was due meanwhile is up to the catch-up policy.

        Raises:
            ValueError: the instant has passed, or says nothing of its zone.
        """
        moment = as_instant(instant)
        if moment < self._now:
            raise ValueError(f"{moment.isoformat()} has passed: it is {self._now.isoformat()}")
        self._now = moment
        self._store()

    def advance(self, by: timedelta | None = None, /, **parts: float) -> None:
        """Jump ahead by a duration, or by its parts: ``advance(hours=1)``."""
        self.set(self._now + (by or timedelta(**parts)))

    def _store(self) -> None:
        self._connection.execute("update hourbell_testing.clock set now = %s", (self._now,))


def as_instant(value: datetime | str) -> datetime:
    """UTC, cut to the millisecond.

    Raises:
        ValueError, FieldError: no instant, or one without a zone.
    """
    moment = parse_instant(value, field="now") if isinstance(value, str) else value
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} says nothing of its zone")
    return floor_ms(moment.astimezone(UTC))
