"""Which jobs are cold, and in which hour's bucket: decided by `scheduled_for` alone.

A bucket holds the jobs whose `scheduled_for` lies in one hour of UTC, its first instant included, its last excluded:
12:59:59.999 belongs to hour 12. It is promoted once its hour begins within `HOT_HORIZON`, and until then takes new
jobs; so a one-off is born cold exactly when its hour begins later than that. (Not when it fires: the moment in a
window depends on the id, and the id on the hour.)
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from hourbell.domain.ids import due_hour_of
from hourbell.domain.instants import EPOCH

HOT_HORIZON = timedelta(hours=2)

_HOUR = timedelta(hours=1)


class Tier(StrEnum):
    """Where a job waits for its time: in the hot table, or in the cold tier."""

    HOT = "hot"
    COLD = "cold"


def hour_start(due_hour: int) -> datetime:
    """The first instant of a bucket."""
    return EPOCH + due_hour * _HOUR


def cold_hour(scheduled_for: datetime, *, now: datetime) -> int:
    """The bucket of a one-off that is born cold now; 0: it is born warm."""
    due_hour = due_hour_of(scheduled_for)
    return due_hour if due_hour > last_hot_hour(now) else 0


def last_hot_hour(now: datetime) -> int:
    """Buckets up to this one belong into the hot tier."""
    return due_hour_of(now + HOT_HORIZON)
