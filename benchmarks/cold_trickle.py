"""What the freezer PUTs when jobs come slowly, in bursts, or thickly: minute after minute; time is an argument.

    trickle   N jobs at an even pace over two days, each due in any of 4,380 hours
    burst     the same, all of each three hours' jobs within one minute
    thick     jobs so many to the hour that its segments are merged, and the merged ones again: the dearest case

Each minute the jobs of that minute are accepted and the freezer is called, as in production. Jobs that stay fewer than
``policy.FEW`` to their hour are promoted from the intake and cost nothing. At the end the loader promotes hours, and
each of their jobs must be hot, wherever it waited. The bucket is in memory: PUTs are counted here, not timed.

Without ``--full`` it is a fifth of a million jobs over a fifth of the hours: as many to the hour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any

import psycopg
from hourbell.cold.objects import ColdObjects
from hourbell.cold.record import encode_record
from hourbell.domain.cold import hour_start
from hourbell.domain.ids import due_hour_of
from hourbell.services.freeze_jobs import freeze_jobs
from hourbell.services.promote_jobs import promote_jobs
from hourbell.store.connection import Database
from psycopg.conninfo import make_conninfo

from benchmarks.cold import BUCKET, HOURS, NOW, TARGET, TENANT, CountingS3, MemoryS3, cold_job, rows

MINUTES = 2 * 24 * 60
BURST_MINUTES = 180
# One segment of a hundred jobs every twenty minutes, in each of the hours.
THICK_HOURS = 24
THICK_JOBS = 240_000
PROMOTED_HOURS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """``due_in``: how many hours they are due in; ``every``: minutes between two arrivals."""

    jobs: int
    due_in: int
    every: int = 1


def trickle(database: Callable[[str], str], *, full: bool) -> dict[str, Any]:
    """PUTs a million jobs, by the way they come."""
    jobs = 1_000_000 if full else 200_000
    ways = {
        "trickle": Arrivals(jobs=jobs, due_in=round(HOURS * jobs / 1_000_000)),
        "burst": Arrivals(jobs=jobs, due_in=round(HOURS * jobs / 1_000_000), every=BURST_MINUTES),
        "thick": Arrivals(jobs=THICK_JOBS, due_in=THICK_HOURS),
    }
    figures: dict[str, Any] = {}
    for name, arrivals in ways.items():
        # nothing is timed, and nothing is to outlive a crash: thousands of ticks need not wait for the disk
        conninfo = make_conninfo(database(name), options="-c synchronous_commit=off")
        figures |= {f"{name}_{key}": value for key, value in live(conninfo, arrivals).items()}
    return figures


def live(conninfo: str, arrivals: Arrivals) -> dict[str, Any]:
    """Two days of arrivals, and what they cost."""
    s3 = CountingS3(MemoryS3())
    objects = ColdObjects(bucket=BUCKET, client=lambda: s3)
    database, random = Database(conninfo), Random(7)
    first = due_hour_of(NOW + timedelta(minutes=MINUTES)) + 48
    accepted, frozen, written, merged = 0, 0, 0, 0
    with psycopg.connect(conninfo, autocommit=True) as connection:
        for minute in range(MINUTES):
            now = NOW + timedelta(minutes=minute)
            if minute % arrivals.every == 0:
                until = arrivals.jobs * min(MINUTES, minute + arrivals.every) // MINUTES
                accept(connection, until - accepted, now, lambda: first + random.randrange(arrivals.due_in), random)
                accepted = until
            tick = freeze_jobs(database, objects, owner=f"minute {minute}", time_left=lambda: True, now=now)
            frozen, written, merged = frozen + tick.jobs, written + tick.segments, merged + tick.merged
    puts = s3.calls["put_object"]
    ((waiting,),) = rows(conninfo, "select count(*) from cold_intake")
    check_promotion(conninfo, database, objects, first, min(PROMOTED_HOURS, arrivals.due_in))
    database.close()
    assert accepted == arrivals.jobs == frozen + waiting
    return {
        "jobs": accepted,
        "hours": arrivals.due_in,
        "puts": puts,
        "segments_merged": merged,
        "left_in_intake": waiting,
        "puts_per_million": round(puts * 1e6 / accepted),
        "puts_per_million_frozen": round(puts * 1e6 / frozen),
    }


def accept(
    connection: psycopg.Connection[Any], jobs: int, now: Any, hour_of: Callable[[], int], random: Random
) -> None:
    """Jobs as the API accepts them, by COPY."""
    born = [cold_job(hour_of(), now + timedelta(milliseconds=n * 60_000 // jobs), n, random) for n in range(jobs)]
    hours = {due_hour_of(job.scheduled_for) for job in born}
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute("insert into cold_bucket (due_hour) select unnest(%s::int[]) on conflict do nothing", [[*hours]])
        with cursor.copy(
            "copy cold_intake (job_id, due_hour, tenant_id, target_id, record, created_at) from stdin"
        ) as copy:
            for job in born:
                row = (job.job_id, due_hour_of(job.scheduled_for), TENANT, TARGET, encode_record(job), job.created_at)
                copy.write_row(row)


def check_promotion(conninfo: str, database: Database, objects: ColdObjects, first: int, hours: int) -> None:
    """The first hours become hot, whole: from the intake and from segments."""
    ((expected,),) = rows(
        conninfo,
        "select (select count(*) from cold_intake where due_hour < %(until)s) + "
        "(select coalesce(sum(jobs), 0) from cold_segment where state = 'live' and due_hour < %(until)s)",
        until=first + hours,
    )
    promoted = promote_jobs(
        database,
        objects,
        owner="benchmark",
        zone_data="2026c",
        time_left=lambda: True,
        now=hour_start(first + hours - 3),
    )
    ((hot,),) = rows(conninfo, "select count(*) from due")
    assert promoted.drained, promoted
    assert hot == promoted.jobs == expected, (promoted, hot, expected)
