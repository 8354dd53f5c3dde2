"""How late calls arrive on the local cloud: API → due → SQS → worker → HTTP receiver, the whole way.

    python -m benchmarks.lateness [--json] [--jobs 600] [--seconds 30] [--running]

One-off jobs, spread evenly over some seconds, are created through the API ahead of time; a receiver in this process
notes when each call comes in. Lateness is that moment less ``scheduled_for``.

A local cloud is brought up for the benchmark in a directory of its own and taken down at its end. Its first burst comes
right after the deployment, and nothing but ``up`` has warmed it: ``cold_p99_ms``. The second burst is the warm figure.
With ``--running`` the cloud that ``hourbell up`` left running is used, and there is no cold figure.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from hourbell.client import Client
from hourbell.domain.ids import decode
from hourbell.domain.instants import floor_ms, format_instant
from hourbell.local.cloud import down, up
from hourbell.local.project import Project, StateDirectory
from hourbell.local.receiver import Receiver
from hourbell.local.state import Cloud, CloudRecord

COLD_JOBS = 200

# As many callers create the jobs; allowed for one creation on average; the first job rings some breath after the last.
CREATORS = 3
CREATE_SECONDS = 0.06
BREATH_SECONDS = 8

# How long after the last occurrence calls are waited for.
PATIENCE_SECONDS = 15

# How long the worker took to get at the run, by the database's own clock.
_LEASED_AFTER_MS = """
select extract(epoch from run.started_at - run.fire_at)::double precision * 1000
from run
where run.job_id = any(%(job_ids)s) and run.started_at is not null
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """What one burst measured, in milliseconds.

    ``leased``: until the worker had the run (``started_at`` less ``fire_at``); the rest of ``late`` is the call itself.
    """

    late: list[float]
    leased: list[float]
    create: list[float]
    missing: int
    doubled: int


def ring(cloud: Cloud, *, jobs: int, seconds: float) -> Burst:
    """Create the jobs, wait until all have rung, and hold the calls against the occurrences."""
    with Receiver() as receiver, Client(cloud.url, cloud.api_key) as client:
        target = client.create_target(f"lateness-{uuid.uuid4().hex[:8]}", {"url": receiver.url})
        begin = floor_ms(datetime.now(UTC)) + timedelta(seconds=jobs * CREATE_SECONDS + BREATH_SECONDS)

        def create(number: int) -> tuple[str, datetime, float]:
            at = floor_ms(begin + timedelta(seconds=seconds * number / jobs))
            started = time.perf_counter()
            job = client.create_job({"schedule": {"at": format_instant(at)}, "target": target["name"]})
            return job["id"], at, (time.perf_counter() - started) * 1000

        with ThreadPoolExecutor(CREATORS) as pool:
            created = list(pool.map(create, range(jobs)))
        scheduled = {job_id: at for job_id, at, _ in created}
        if datetime.now(UTC) > begin:
            raise SystemExit("creating the jobs took longer than allowed: the machine is too busy for a measurement")
        _wait_for(receiver, len(scheduled), until=max(scheduled.values()) + timedelta(seconds=PATIENCE_SECONDS))
        calls = receiver.calls()
    counts = Counter(call.job_id for call in calls)
    late: dict[str, float] = {}
    for call in calls:
        arrival = (call.received_at - scheduled[call.job_id]).total_seconds() * 1000
        late[call.job_id] = min(arrival, late.get(call.job_id, arrival))
    return Burst(
        late=sorted(late.values()),
        leased=_leased_after(cloud, list(scheduled)),
        create=sorted(ms for _, _, ms in created),
        missing=len(scheduled.keys() - counts.keys()),
        doubled=sum(count > 1 for count in counts.values()),
    )


def _wait_for(receiver: Receiver, calls: int, *, until: datetime) -> None:
    while datetime.now(UTC) < until and len(receiver.calls()) < calls:
        time.sleep(0.5)
    time.sleep(1)  # a doubled call would come about now


def _leased_after(cloud: Cloud, job_ids: list[str]) -> list[float]:
    with psycopg.connect(cloud.database) as connection:
        rows = connection.execute(_LEASED_AFTER_MS, {"job_ids": [decode("job", job_id) for job_id in job_ids]})
        return sorted(float(row[0]) for row in rows)


def percentile(values: list[float], share: float) -> float | None:
    """The value that this share of the sorted ``values`` does not exceed."""
    return round(values[min(len(values) - 1, int(share * len(values)))], 1) if values else None


@contextlib.contextmanager
def fresh_cloud() -> Iterator[Cloud]:
    """A local cloud of its own, deployed just now."""
    project = Project.find()
    state = StateDirectory(path=Path(tempfile.mkdtemp(prefix="hourbell-lateness-")))
    try:
        yield up(project, state)
    finally:
        down(project, state)
        shutil.rmtree(state.path, ignore_errors=True)


def running_cloud() -> Cloud:
    """The one that ``hourbell up`` left running."""
    record = CloudRecord.read(StateDirectory.of(Project.find())) or CloudRecord()
    return Cloud.of(record if record.is_up else CloudRecord())


def _report(cold: Burst | None, warm: Burst) -> dict[str, Any]:
    report: dict[str, Any] = {
        "jobs": len(warm.late) + warm.missing,
        "p50_ms": percentile(warm.late, 0.5),
        "p99_ms": percentile(warm.late, 0.99),
        "max_ms": percentile(warm.late, 1),
        "missing": warm.missing,
        "doubled": warm.doubled,
        "leased_p50_ms": percentile(warm.leased, 0.5),
        "leased_p99_ms": percentile(warm.leased, 0.99),
        "create_p50_ms": percentile(warm.create, 0.5),
    }
    if cold is not None:
        report |= {
            "cold_jobs": len(cold.late) + cold.missing,
            "cold_p50_ms": percentile(cold.late, 0.5),
            "cold_p99_ms": percentile(cold.late, 0.99),
            "cold_missing": cold.missing,
            "cold_doubled": cold.doubled,
        }
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON line and nothing else")
    parser.add_argument("--jobs", type=int, default=600)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--running", action="store_true", help="use the running local cloud; no cold figure")
    arguments = parser.parse_args()
    rate = arguments.jobs / arguments.seconds

    def say(text: str) -> None:
        if not arguments.json:
            print(text, file=sys.stderr, flush=True)

    cold: Burst | None = None
    if arguments.running:
        warm = ring(running_cloud(), jobs=arguments.jobs, seconds=arguments.seconds)
    else:
        say("bringing a local cloud up")
        with fresh_cloud() as cloud:
            say(f"cold: {COLD_JOBS} jobs at {rate:g} a second")
            cold = ring(cloud, jobs=COLD_JOBS, seconds=COLD_JOBS / rate)
            say(f"warm: {arguments.jobs} jobs at {rate:g} a second")
            warm = ring(cloud, jobs=arguments.jobs, seconds=arguments.seconds)
    print(json.dumps(_report(cold, warm)))


if __name__ == "__main__":
    main()
