"""Microseconds to plan the next run of a job: 100,000 jobs, 1,000 distinct expressions, zones with clock changes.

    python -m benchmarks.planning [--json] [--jobs 100000]

Three figures of the same run: jobs planned one by one with schedules already parsed (what a scanner pays for a job that
shares its plan with nobody), the same with parsing, and croniter alone asked for one naive next time per job, which
knows no zone and no clock change.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import time
from datetime import UTC, datetime, timedelta
from uuid import UUID

import croniter
from hourbell.domain.schedule import next_after, schedule_from_json

ZONES = ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Cairo", "UTC"]
NOW = datetime(2027, 3, 27, 12, 0, tzinfo=UTC)
EXPRESSIONS = 1_000


def texts() -> list[str]:
    """1,000 different schedules as the database keeps them: minutes, hours, days, weekdays, steps, L, W, #."""
    days = ["* * *", "1 * *", "L * *", "15W * *", "* * 1-5", "* * 5#2", "*/2 * *", "1,15 */3 *", "* 1-6 MON", "29 2 *"]
    spells = itertools.product(days, ["0", "*/15", "7", "30", "5-55/10"], ["2", "*", "9-17", "22-2"])
    found = [f"{minute} {hour} {day}" for day, minute, hour in spells]
    found += [f"{n % 60} {n // 60 % 24} * * *" for n in range(EXPRESSIONS - len(found))]
    return [
        json.dumps({"cron": text, "timezone": ZONES[number % len(ZONES)], "gap": "run", "repeat": "once"})
        for number, text in enumerate(found)
    ]


def per_job_us(jobs: list[tuple[UUID, str, datetime]]) -> float:
    started = time.perf_counter()
    for job_id, text, after in jobs:
        next_after(schedule_from_json(text), job_id, after)
    return (time.perf_counter() - started) / len(jobs) * 1e6


def croniter_us(jobs: list[tuple[UUID, str, datetime]], sample: int) -> float:
    started = time.perf_counter()
    for _, text, after in jobs[:sample]:
        expression = json.loads(text)["cron"].replace("22-2", "22,23,0,1,2")
        croniter.croniter(expression.replace("15W", "15"), after.replace(tzinfo=None)).get_next(datetime)
    return (time.perf_counter() - started) / sample * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON line and nothing else")
    parser.add_argument("--jobs", type=int, default=100_000)
    arguments = parser.parse_args()
    chosen, schedules = random.Random(1), texts()
    jobs = [
        (UUID(int=n), schedules[n % EXPRESSIONS], NOW + timedelta(seconds=chosen.randrange(86_400 * 365)))
        for n in range(arguments.jobs)
    ]
    schedule_from_json.cache_clear()
    with_parsing = per_job_us(jobs)
    parsed = statistics.median(per_job_us(jobs) for _ in range(3))
    result = {
        "jobs": arguments.jobs,
        "expressions": len(set(schedules)),
        "microseconds_per_job": round(parsed, 2),
        "with_parsing_microseconds_per_job": round(with_parsing, 2),
        "croniter_microseconds_per_job": round(croniter_us(jobs, 2_000), 2),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
