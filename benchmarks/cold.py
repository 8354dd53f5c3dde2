"""The cold tier: ``python -m benchmarks.cold [--json] [--jobs N] [--s3 memory|server|URL] [--only PART] [--full]``.

    freeze    N jobs spread over 4,380 hours: jobs a second, objects, PUTs a million jobs, bytes a job
    promote   N jobs of one hour: seconds, and the peak memory of the process that promotes them
    lookup    one job of an hour with 1,000 segments, by its id
    size      PostgreSQL with ten million pending jobs, 1 % of them hot, beside all of them: ``benchmarks.cold_size``
    trickle   PUTs a million jobs that come slowly: ``benchmarks.cold_trickle``

S3 is the AWS emulator's (``server``, a process of its own, over HTTP), a bucket in memory (to see what is left when S3
costs nothing) or any endpoint. Size and trickle only count what is there: their bucket is in memory.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import psycopg
from hourbell.cold.objects import ColdObjects
from hourbell.cold.record import ColdJob, encode_record
from hourbell.cold.segment import SEGMENT_RECORDS
from hourbell.domain.cold import hour_start
from hourbell.domain.ids import due_hour_of, new_job_id
from hourbell.domain.instants import format_instant
from hourbell.local.postgres import throwaway_postgres
from hourbell.services.cold_jobs import find_cold_job
from hourbell.services.freeze_jobs import freeze_jobs
from hourbell.services.promote_jobs import promote_jobs
from hourbell.store.bootstrap import bootstrap
from hourbell.store.connection import Database
from hourbell.store.migrate import migrate

from benchmarks.hot_table import NOW, SERVER

HOURS = 4_380
SEGMENTS = 1_000
LOOK_UPS = 2_000
TENANT = TARGET = UUID("01900000-0000-7000-8000-000000000001")
BUCKET = "cold-benchmark"
PAYLOAD = '{"order":%d,"action":"remind","channel":"mail","locale":"de-DE"}'


class MemoryS3:
    """The calls that segments need, with no S3 behind them."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    def put_object(self, *, Key: str, Body: bytes, ChecksumSHA256: str, **_: Any) -> dict[str, Any]:  # noqa: N803
        self.objects[Key] = Body
        return {"ChecksumSHA256": ChecksumSHA256}

    def delete_object(self, *, Key: str, **_: Any) -> None:  # noqa: N803
        del self.objects[Key]

    def head_object(self, *, Key: str, **_: Any) -> dict[str, Any]:  # noqa: N803
        return {"ContentLength": len(self.objects[Key])}

    def get_object(self, *, Key: str, Range: str | None = None, **_: Any) -> dict[str, Any]:  # noqa: N803
        body = self.objects[Key]
        if Range is not None:
            first, last = Range.removeprefix("bytes=").split("-")
            body = body[int(first) : int(last) + 1]
        return {"Body": BytesIO(body), "ContentLength": len(body)}


class CountingS3:
    """A client whose calls are counted."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.calls: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        self.calls[name] = self.calls.get(name, 0) + 1
        return getattr(self._client, name)


@contextlib.contextmanager
def s3_client(kind: str) -> Iterator[Any]:
    """A bucket of its own at the S3 that was asked for."""
    if kind == "memory":
        yield MemoryS3()
        return
    with contextlib.ExitStack() as stack:
        endpoint = stack.enter_context(emulator()) if kind == "server" else kind
        client = endpoint_client(endpoint)
        client.create_bucket(Bucket=BUCKET)
        client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        yield client


def endpoint_client(endpoint: str) -> Any:
    import boto3
    from botocore.config import Config

    key = {"aws_access_key_id": "000000000000", "aws_secret_access_key": "benchmark"}
    return boto3.client(
        "s3", endpoint_url=endpoint, region_name="us-east-1", config=Config(max_pool_connections=16), **key
    )


@contextlib.contextmanager
def emulator() -> Iterator[str]:
    """The S3 of the AWS emulator, alone."""
    from hourbell.local import emulator as machine
    from hourbell.local.project import Project

    project = Project.find()
    python = project.emulator_python
    with tempfile.TemporaryDirectory() as scratch:
        running = machine.start(
            python=python,
            programs=Path(sys.executable).parent,
            scratch=Path(scratch) / "emulator",
            objects=Path(scratch) / "s3",
            log=Path(scratch) / "emulator.log",
            mark="cold-benchmark",
            started=lambda _: None,
        )
        try:
            yield running.endpoint
        finally:
            machine.stop(running.process, mark="cold-benchmark")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--s3", default="server")
    parser.add_argument("--only", choices=(*TIMED, "size", "trickle"))
    parser.add_argument("--full", action="store_true", help="size and trickle: all of it, and no share")
    asked = parser.parse_args()
    figures: dict[str, Any] = {"jobs": asked.jobs, "s3": asked.s3}
    with throwaway_postgres(settings=SERVER) as server:
        if asked.only in (None, *TIMED):
            with s3_client(asked.s3) as client:
                for name, part in TIMED.items():
                    if asked.only in (None, name):
                        figures.update(part(fresh_database(server, f"cold_{name}"), client, asked.jobs))
        if asked.only in (None, "size"):
            figures.update(size(server, full=asked.full))
        if asked.only in (None, "trickle"):
            figures.update(trickle(server, full=asked.full))
    report(figures, as_json=asked.json)


def size(server: Any, *, full: bool) -> dict[str, Any]:
    """One database after the other: all hot is ten gigabytes."""
    from benchmarks.cold_size import all_hot, one_percent_hot

    few = one_percent_hot(fresh_database(server, "cold_size"), full=full)
    every = all_hot(fresh_database(server, "cold_size_all"))
    with psycopg.connect(server.conninfo(), autocommit=True) as connection:
        connection.execute("drop database cold_size_all")
    return few | every


def trickle(server: Any, *, full: bool) -> dict[str, Any]:
    from benchmarks import cold_trickle

    return cold_trickle.trickle(lambda name: fresh_database(server, f"cold_{name}"), full=full)


def fresh_database(server: Any, name: str) -> str:
    with psycopg.connect(server.conninfo(), autocommit=True) as connection:
        connection.execute(f"create database {name}")
    conninfo = str(server.conninfo(database=name))
    with psycopg.connect(conninfo, autocommit=True) as connection:
        bootstrap(connection)
        migrate(connection)
        connection.execute("insert into tenant (tenant_id, name) values (%s, 'benchmark')", (TENANT,))
        connection.execute(
            "insert into target (target_id, tenant_id, name, kind, config, config_sha256, created_at, updated_at) "
            "values (%s, %s, 'sink', 'http', '{}', '', now(), now())",
            (TARGET, TENANT),
        )
    return conninfo


def fill_intake(conninfo: str, jobs: int, hour_of: Callable[[int], int], *, spread_ms: int = 1_000) -> list[UUID]:
    """Jobs as the API accepts them, created within a few minutes. By COPY: accepting them is the API's benchmark."""
    random, ids = Random(7), []
    with psycopg.connect(conninfo) as connection, connection.cursor() as cursor:
        cursor.execute("create temporary table wanted (due_hour integer)")
        hours = sorted({hour_of(n) for n in range(min(jobs, 2 * HOURS))})
        with cursor.copy("copy cold_bucket (due_hour) from stdin") as copy:
            for hour in hours:
                copy.write_row((hour,))
        with cursor.copy(
            "copy cold_intake (job_id, due_hour, tenant_id, target_id, record, created_at) from stdin"
        ) as copy:
            for n in range(jobs):
                due_hour = hour_of(n)
                created_at = NOW + timedelta(milliseconds=n * spread_ms // 1_000)
                job = cold_job(due_hour, created_at, n, random)
                ids.append(job.job_id)
                copy.write_row((job.job_id, due_hour, TENANT, TARGET, encode_record(job), created_at))
        cursor.execute("analyze cold_intake")
    return ids


def cold_job(due_hour: int, created_at: Any, number: int, random: Random) -> ColdJob:
    scheduled_for = hour_start(due_hour) + timedelta(milliseconds=random.randrange(3_600_000))
    schedule = {"at": format_instant(scheduled_for), "timezone": None, "gap": "run", "repeat": "once"}
    return ColdJob(
        job_id=new_job_id(created_at, due_hour=due_hour, entropy=random.randbytes),
        tenant_id=TENANT,
        target_id=TARGET,
        name=None,
        schedule=json.dumps(schedule, separators=(",", ":")),
        payload=PAYLOAD % number,
        window_ms=0,
        catch_up='{"policy":"run_once","within":null}',
        overlap="allow",
        retry='{"max_attempts":5,"backoff":"exponential","initial":"PT10S","maximum":"PT1H","max_age":"P1D"}',
        timeout_ms=30_000,
        tags='{"team":"reminders"}',
        version=1,
        scheduled_for=scheduled_for,
        fire_at=scheduled_for,
        created_at=created_at,
        zone_data="2026c",
    )


def freeze(conninfo: str, client: Any, jobs: int) -> dict[str, Any]:
    """The jobs of half a year, created in one go."""
    first = due_hour_of(NOW) + 48
    fill_intake(conninfo, jobs, lambda n: first + n * 7_919 % HOURS)
    counting = CountingS3(client)
    database = Database(conninfo)
    began = time.perf_counter()
    frozen = freeze_jobs(
        database,
        ColdObjects(bucket=BUCKET, client=lambda: counting),
        owner="benchmark",
        time_left=lambda: True,
        now=NOW + timedelta(hours=1),
    )
    seconds = time.perf_counter() - began
    ((size, still_in_intake),) = rows(
        conninfo, "select sum(bytes), (select count(*) from cold_intake) from cold_segment where state = 'live'"
    )
    catalogue = relation_bytes(conninfo, "cold_segment", "cold_content", "cold_bucket")
    database.close()
    return {
        "freeze_jobs_per_second": round(frozen.jobs / seconds),
        "frozen_jobs": frozen.jobs,
        "objects": frozen.segments,
        "puts_per_million": round(counting.calls["put_object"] * 1e6 / frozen.jobs),
        "bytes_per_job": round(float(size) / frozen.jobs, 1),
        "left_in_intake": still_in_intake,
        "catalogue_bytes_per_job": round(catalogue / frozen.jobs, 1),
    }


def promote(conninfo: str, client: Any, jobs: int) -> dict[str, Any]:
    """One hour's jobs, in a process of their own so that its memory is its own."""
    due_hour = due_hour_of(NOW) + 48
    fill_intake(conninfo, jobs, lambda _: due_hour)
    database = Database(conninfo)
    objects = ColdObjects(bucket=BUCKET, client=lambda: client)
    freeze_jobs(database, objects, owner="benchmark", time_left=lambda: True, now=NOW + timedelta(hours=1))
    database.close()
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("vacuum analyze cold_intake")
        connection.execute("checkpoint")
    context = multiprocessing.get_context("fork" if isinstance(client, MemoryS3) else "spawn")
    receiver, sender = context.Pipe(duplex=False)
    endpoint = None if isinstance(client, MemoryS3) else client.meta.endpoint_url
    loader = context.Process(
        target=promote_here, args=(conninfo, endpoint, client if endpoint is None else None, due_hour, sender)
    )
    loader.start()
    figures: dict[str, Any] = receiver.recv()
    loader.join()
    return figures


def promote_here(conninfo: str, endpoint: str | None, memory: Any, due_hour: int, sender: Any) -> None:
    client = memory if endpoint is None else endpoint_client(endpoint)
    database = Database(conninfo)
    began = time.perf_counter()
    promoted = promote_jobs(
        database,
        ColdObjects(bucket=BUCKET, client=lambda: client),
        owner="benchmark",
        zone_data="2026c",
        time_left=lambda: True,
        now=hour_start(due_hour - 2),
    )
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
    sender.send(
        {
            "promoted_jobs": promoted.jobs,
            "promote_seconds": round(seconds, 1),
            "promote_peak_mib": round(peak),
            "promote_jobs_per_second": round(promoted.jobs / seconds),
        }
    )


def look_up(conninfo: str, client: Any, jobs: int) -> dict[str, Any]:
    """An hour with 1,000 segments, which compaction would not leave: the catalogue finds the one."""
    from hourbell.services.freeze_jobs import _draft, _enter_segments

    due_hour = due_hour_of(NOW) + 48
    size = max(2, min(SEGMENT_RECORDS, jobs // SEGMENTS))
    ids = sorted(fill_intake(conninfo, size * SEGMENTS, lambda _: due_hour))
    database = Database(conninfo)
    objects = ColdObjects(bucket=BUCKET, client=lambda: client)
    records = dict(rows(conninfo, "select job_id, record from cold_intake"))
    for start in range(0, len(ids), size):
        part = [(one, records[one].encode()) for one in ids[start : start + size]]
        draft = _draft(due_hour, part, NOW)
        stored = [(draft, objects.put(draft.written))]
        database.run(lambda connection, stored=stored: _enter_segments(stored, connection, NOW))
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("vacuum analyze")
    counting = CountingS3(client)
    objects = ColdObjects(bucket=BUCKET, client=lambda: counting)
    seconds = []
    for job_id in Random(7).choices(ids, k=LOOK_UPS):
        began = time.perf_counter()
        assert find_cold_job(database, objects, TENANT, job_id) is not None
        seconds.append(time.perf_counter() - began)
    database.close()
    cuts = statistics.quantiles(seconds, n=100)
    return {
        "lookup_segments": SEGMENTS,
        "lookup_p50_ms": round(cuts[49] * 1_000, 2),
        "lookup_p99_ms": round(cuts[98] * 1_000, 2),
        "lookup_reads": round(counting.calls["get_object"] / LOOK_UPS, 3),
    }


def relation_bytes(conninfo: str, *names: str) -> float:
    """Tables with their indexes."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        return sum(
            float(connection.execute("select pg_total_relation_size(%s::regclass)", [name]).fetchone()[0])
            for name in names
        )


def rows(conninfo: str, statement: str, **values: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(conninfo) as connection:
        return connection.execute(statement, values or None).fetchall()  # type: ignore[arg-type]


TIMED: dict[str, Callable[[str, Any, int], dict[str, Any]]] = {"freeze": freeze, "promote": promote, "lookup": look_up}


def report(figures: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(figures) + "\n")
        return
    for name, value in figures.items():
        sys.stdout.write(f"{name:<36} {value:>14,}\n" if not isinstance(value, str) else f"{name:<36} {value:>14}\n")


if __name__ == "__main__":
    main()
