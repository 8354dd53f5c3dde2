"""Jobs created a second in batches of 1,000, beside COPY of the same rows into the same tables on the same server.

    python -m benchmarks.bulk_create [--json] [--batches 20] [--gateway]

``jobs_per_second``: the store's statements, one transaction a batch, as the API's role with row security and the audit.
``copy_limit_per_second``: COPY of job and due, as the owner, nothing checked. ``p50_ms``: one call of 1,000 jobs
through the API's handler, checks and JSON included.

With ``--gateway`` also ``gateway_p50_ms`` and ``gateway_p99_ms``: the same call through the gateway of the local cloud
that ``hourbell up`` left running. Its jobs are taken out again.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import hourbell.client
import psycopg
from hourbell.api.app import Application
from hourbell.api.calls import Api
from hourbell.domain.ids import new_id, new_job_id, shard_of
from hourbell.local.postgres import throwaway_postgres
from hourbell.local.state import Cloud
from hourbell.services.audit import record_created_jobs
from hourbell.services.jobs import Scheduler
from hourbell.store.bootstrap import bootstrap
from hourbell.store.connection import Connection, Database
from hourbell.store.jobs import JobValues, NewJob, insert_jobs
from hourbell.store.migrate import migrate
from hourbell.store.tenant_database import Actor, TenantDatabase

from benchmarks.lateness import percentile, running_cloud
from tests.integration.api.conftest import HORIZON, RULES, Client
from tests.seeds import RecordingLanes

NOW = datetime(2027, 5, 9, 12, tzinfo=UTC)
BATCH = 1_000
GATEWAY_CALLS = 15
# As a deletion by the API leaves them, thousands at once.
REMOVE = """
with removed as (
    update job set state = 'deleted', updated_at = now()
    where target_id = (select target_id from target where name = %(mark)s)
    returning job_id
),

gone as (update target set state = 'deleted', updated_at = now() where name = %(mark)s)

delete from due using removed where due.job_id = removed.job_id
"""


def new_jobs(target_id: UUID) -> list[NewJob]:
    at = NOW + timedelta(hours=1)
    values = JobValues(
        name=None,
        target_id=target_id,
        state="active",
        schedule='{"every":"PT1H","anchor":"2027-01-01T00:00:00.000Z"}',
        payload='{"ledger":7}',
        window_ms=0,
        catch_up='{"policy":"run_once","within":null}',
        overlap="allow",
        retry='{"max_attempts":5}',
        timeout_ms=30_000,
        tags='{"team":"payments"}',
    )
    return [NewJob((job_id := new_job_id(NOW)), values._replace(name=f"job {job_id}"), at, at) for _ in range(BATCH)]


def in_the_store(database: Database, tenant_id: UUID, batches: list[list[NewJob]]) -> float:
    """Jobs a second."""
    started = time.perf_counter()
    for batch in batches:

        def create(connection: Connection, jobs: list[NewJob] = batch) -> None:
            made = insert_jobs(connection, tenant_id, jobs, now=NOW)
            record_created_jobs(connection, tenant_id, sorted(made), now=NOW)

        database.run(create)
    return len(batches) * BATCH / (time.perf_counter() - started)


def by_copy(admin: psycopg.Connection[Any], tenant_id: UUID, batches: list[list[NewJob]]) -> float:
    """Jobs a second."""
    columns = ", ".join(JobValues._fields)
    started = time.perf_counter()
    for batch in batches:
        with admin.transaction(), admin.cursor() as cursor:
            with cursor.copy(f"copy job (job_id, tenant_id, {columns}, created_at, updated_at) from stdin") as copy:
                for job in batch:
                    copy.write_row((job.job_id, tenant_id, *job.values, NOW, NOW))
            with cursor.copy("copy due (job_id, tenant_id, shard_id, next_run_at, scheduled_for) from stdin") as copy:
                for job in batch:
                    copy.write_row((job.job_id, tenant_id, shard_of(job.job_id), job.fire_at, job.scheduled_for))
    return len(batches) * BATCH / (time.perf_counter() - started)


def through_the_handler(application: Application, tenant_id: UUID, calls: int) -> list[float]:
    """Milliseconds of each call of 1,000 jobs."""
    client = Client(application, tenant_id, now=NOW)
    times = []
    for call in range(calls):
        jobs = definitions(f"call {call}", "sink")
        started = time.perf_counter()
        answer = client.post("/v1/jobs/batch", {"jobs": jobs})
        times.append((time.perf_counter() - started) * 1000)
        assert answer.status == 201, answer.text
    return times


def through_the_gateway(cloud: Cloud, calls: int) -> list[float]:
    """Milliseconds of each call of 1,000 jobs, one after the other, after one that warms the function."""
    mark = f"bulk-{uuid.uuid4().hex[:8]}"
    times = []
    with hourbell.client.Client(cloud.url, cloud.api_key) as client:
        client.create_target(mark, {"url": "http://127.0.0.1:9/"})
        try:
            for call in range(calls + 1):
                jobs = definitions(f"{mark} call {call}", mark)
                started = time.perf_counter()
                client.create_jobs(jobs)
                times.append((time.perf_counter() - started) * 1000)
        finally:
            with psycopg.connect(cloud.database, autocommit=True) as admin:
                admin.execute(REMOVE, {"mark": mark})
    return sorted(times[1:])


def definitions(name: str, target: str) -> list[dict[str, Any]]:
    """The jobs of one call."""
    return [
        {
            "name": f"{name} job {number}",
            "schedule": {"cron": f"{number % 60} 2 * * *", "timezone": "Asia/Kolkata"},
            "target": target,
            "payload": {"ledger": number},
            "tags": {"team": "payments"},
        }
        for number in range(BATCH)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON line and nothing else")
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--gateway", action="store_true", help="through the running local cloud as well")
    arguments = parser.parse_args()
    tenant_id = new_id(NOW)
    with throwaway_postgres() as server, psycopg.connect(server.conninfo(), autocommit=True) as admin:
        bootstrap(admin)
        migrate(admin)
        admin.execute("insert into tenant (tenant_id, name) values (%s, 'acme')", (tenant_id,))
        database = Database(server.conninfo(user="hourbell_api"))
        scheduler = Scheduler(database=database, lanes=RecordingLanes(), horizon=HORIZON)
        application = Application(
            Api(scheduler=scheduler, stage_key=lambda: b"stage secret", target_rules=lambda: RULES)
        )
        target = Client(application, tenant_id, now=NOW).target()
        assert target["name"] == "sink"
        (target_id,) = admin.execute("select target_id from target").fetchone() or (None,)
        own = TenantDatabase(database, Actor(tenant_id=tenant_id, key_id=tenant_id, request_id="bench"))
        ours, limit = [], []
        for _ in range(3):
            ours.append(in_the_store(own, tenant_id, [new_jobs(target_id) for _ in range(arguments.batches)]))
            limit.append(by_copy(admin, tenant_id, [new_jobs(target_id) for _ in range(arguments.batches)]))
        calls = through_the_handler(application, tenant_id, arguments.batches)
        database.close()
    result: dict[str, Any] = {
        "batch": BATCH,
        "jobs_per_second": round(statistics.median(ours)),
        "copy_limit_per_second": round(statistics.median(limit)),
        "ratio": round(statistics.median(o / b for o, b in zip(ours, limit, strict=True)), 3),
        "p50_ms": round(statistics.median(calls)),
    }
    if arguments.gateway:
        through = through_the_gateway(running_cloud(), GATEWAY_CALLS)
        result |= {"gateway_p50_ms": percentile(through, 0.5), "gateway_p99_ms": percentile(through, 0.99)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
