"""How long ten jobs of one tenant wait behind 50,000 of another in the scanner: in turns, and oldest first.

    python -m benchmarks.fairness [--json] [--backlog 50000] [--rounds 3] [--cloud]

Both ways claim the same rows with the product's own code on the same server, in the same run; messages are built and
dropped. All jobs are due at the same instant, and the ten come last in the index. Reported for the tenant with ten:
claims and seconds until the last of its runs is handed to the lane, and how many runs were handed over before it; and
what turns cost: claims per second over the whole backlog.

With ``--cloud`` it is measured end to end instead, on a local cloud of its own: two tenants, all jobs due at once, and
and an HTTP receiver. Reported: when the last of the ten rang, and how many calls of the other tenant came before it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import uuid
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

import psycopg
from hourbell.client import Client
from hourbell.domain.ids import decode
from hourbell.domain.run_state import Lane
from hourbell.lanes.messages import LaneMessage
from hourbell.local.receiver import Receiver
from hourbell.local.state import Cloud
from hourbell.services.claim_due import claim_shards
from hourbell.services.scan_shards import BATCH, ScanRange, scan_shards
from hourbell.store.connection import Database

from benchmarks.hot_table import HORIZON, NOW, SHARDS, HotTable, hot_table
from benchmarks.lateness import fresh_cloud

SMALL = 10

# A scan comes every minute; how long the small tenant's runs are waited for, end to end.
PATIENCE_SECONDS = 240


@dataclass(slots=True)
class Watch:
    """Lanes that note when the small tenant's messages come, and drop them all."""

    small: UUID
    started: float = field(default_factory=time.perf_counter)
    seen: int = 0
    claims: int = 0
    last: dict[str, float] = field(default_factory=dict)

    def send(self, messages: Sequence[LaneMessage], *, now: datetime) -> list[LaneMessage]:  # noqa: ARG002
        self.claims += 1
        for message in messages:
            self.seen += 1
            if message.tenant_id == self.small:
                elapsed = time.perf_counter() - self.started
                self.last = {"seconds": round(elapsed, 3), "sends": self.claims, "runs_before": self.seen - 1}
        return []

    def backlog(self, lane: Lane) -> int:  # noqa: ARG002
        return 0


def in_turns(database: Database, watch: Watch) -> None:
    shards = ScanRange(first_shard=0, last_shard=SHARDS - 1)
    scan_shards(database, watch, shards, owner="benchmark", horizon=HORIZON, time_left=lambda: True, now=NOW)


def oldest_first(database: Database, watch: Watch) -> None:
    while True:
        claim = database.run(
            lambda connection: claim_shards(
                connection,
                first_shard=0,
                last_shard=SHARDS - 1,
                now=NOW,
                horizon=HORIZON,
                per_shard=BATCH // SHARDS,
            )
        )
        if not claim.rows:
            return
        watch.send(claim.messages, now=NOW)


def add_small_tenant(table: HotTable) -> UUID:
    """A second tenant that owns the ten jobs which come last."""
    ((tenant,),) = table.execute(
        "insert into tenant (tenant_id, name) values (gen_random_uuid(), 'small') returning tenant_id"
    )
    table.execute(
        "with last as (select job_id from due order by next_run_at, ctid desc limit %(count)s), "
        "owned as (update due set tenant_id = %(tenant)s, next_run_at = %(at)s from last "
        "where due.job_id = last.job_id) "
        "update job set tenant_id = %(tenant)s from last where job.job_id = last.job_id",
        tenant=tenant,
        count=SMALL,
        at=NOW + timedelta(milliseconds=1),
    )
    return UUID(str(tenant))


def measure(table: HotTable, small: UUID, way: str) -> dict[str, float]:
    table.make_all_due_again()
    table.execute(
        "update due set next_run_at = %(at)s where tenant_id = %(tenant)s",
        at=NOW + timedelta(milliseconds=1),
        tenant=small,
    )
    database, watch = Database(table.conninfo), Watch(small)
    watch.started = time.perf_counter()
    {"in_turns": in_turns, "oldest_first": oldest_first}[way](database, watch)
    elapsed = time.perf_counter() - watch.started
    database.close()
    return {**watch.last, "claims_per_second": round(watch.seen / elapsed)}


def ring_both(cloud: Cloud, backlog: int) -> dict[str, float]:
    """Two tenants of a deployed cloud, all of whose jobs fall due at the same moment, before the next scan."""
    with Receiver() as receiver, Client(cloud.url, cloud.api_key) as operator:
        big = _tenants_jobs(cloud, operator, receiver.url, backlog)
        small = set(_tenants_jobs(cloud, operator, receiver.url, SMALL))
        with psycopg.connect(cloud.database) as connection:
            (due_at,) = connection.execute(
                "update due set next_run_at = date_trunc('milliseconds', now()), "
                "scheduled_for = date_trunc('milliseconds', now()) "
                "where job_id = any(%s) returning next_run_at",
                ([decode("job", job_id) for job_id in [*big, *small]],),
            ).fetchone() or (None,)
        began = time.monotonic()
        while len(found := _places(receiver, small)) < SMALL and time.monotonic() < began + PATIENCE_SECONDS:
            time.sleep(0.2)
        calls = receiver.calls()
    last = max(found, default=len(calls) - 1)
    waited = (calls[last].received_at - calls[0].received_at).total_seconds()
    return {
        "small_rang": len(found),
        "seconds_after_first_call": round(waited, 3),
        "seconds_after_due": round((calls[last].received_at - due_at).total_seconds(), 3),
        "calls_before": last - len(found) + 1,
    }


def _tenants_jobs(cloud: Cloud, operator: Client, url: str, count: int) -> list[str]:
    made = operator.create_tenant(f"fairness-{uuid.uuid4().hex[:8]}", quotas={"max_jobs": None})
    job_ids: list[str] = []
    with Client(cloud.url, str(made["key"]["secret"])) as client:
        client.create_target("receiver", {"url": url})
        for start in range(0, count, 1_000):
            wanted = {"schedule": {"every": "30d"}, "target": "receiver"}
            page = client.create_jobs([wanted] * min(1_000, count - start))
            job_ids += [str(job["id"]) for job in page["items"]]  # type: ignore[typeddict-item]
    return job_ids


def _places(receiver: Receiver, job_ids: Set[str]) -> list[int]:
    return [place for place, call in enumerate(receiver.calls()) if call.job_id in job_ids]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON line and nothing else")
    parser.add_argument("--backlog", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cloud", action="store_true", help="end to end, on a local cloud (minutes)")
    arguments = parser.parse_args()
    if arguments.cloud:
        with fresh_cloud() as cloud:
            print(json.dumps({"backlog": arguments.backlog, "small": SMALL, **ring_both(cloud, arguments.backlog)}))
        return
    found: dict[str, list[dict[str, float]]] = {"oldest_first": [], "in_turns": []}
    with hot_table(jobs=arguments.backlog + SMALL) as table:
        small = add_small_tenant(table)
        for number in range(arguments.rounds):
            for way, results in found.items():
                results.append(measure(table, small, way))
                if not arguments.json:
                    print(f"round {number + 1}: {way}: {results[-1]}")
    result = {
        way: {name: statistics.median(one[name] for one in results) for name in results[0]}
        for way, results in found.items()
    }
    cost = result["in_turns"]["claims_per_second"] / result["oldest_first"]["claims_per_second"]
    print(json.dumps({"backlog": arguments.backlog, "small": SMALL, **result, "throughput_ratio": round(cost, 3)}))


if __name__ == "__main__":
    main()
