"""Every filter of the list of jobs, for a tenant with a million of them, as the API's role runs it.

    python -m benchmarks.search [--json] [--jobs 1000000]

Of each filter what matches much, little and nothing, and the first page and one from the middle; medians of the page
(51 jobs) in the store. What matches little matches the oldest jobs, which a walk from the newest reaches last.
``old_*`` matches many, none of them among the newest tenth; ``disjoint_*`` asks for two things that many jobs have, and
none has both. ``backlog_*`` is the same once 20,000 runs wait, too many to be read for a page.

``page_ms``: of the first page and of the one in the middle; ``cpu_ms``: what the server computed for them, which
does not depend on what else the machine is busy with. ``pages``: how many it takes to the list's end where pages
are short.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

import psutil
import psycopg
from hourbell.api.job_search import like_prefix, search_terms
from hourbell.domain.ids import new_id
from hourbell.local.postgres import throwaway_postgres
from hourbell.store.bootstrap import bootstrap
from hourbell.store.job_lists import JobFilter, list_jobs
from hourbell.store.migrate import migrate
from hourbell.store.tenant_database import Actor, introduce

NOW = datetime(2027, 5, 9, 12, tzinfo=UTC)
PAGE = 51
REPEATS = 15

# Ids are made in the order of n; the high bits are the time, as in a real one.
JOBS = """
insert into job (job_id, tenant_id, name, target_id, state, schedule, payload, catch_up, overlap, retry, timeout_ms,
    tags, created_at, updated_at)
select (lpad(to_hex(n), 12, '0') || '80008000' || lpad(to_hex(n), 12, '0'))::uuid, %(tenant)s,
    case when n %% 4 = 0 then 'report-' when n <= 200 then 'oldest-'
        when n %% 4 = 1 and n <= %(old_jobs)s then 'archive-' else 'nightly-' end || n,
    case when n <= 50 then %(rare)s when n %% 5 = 0 and n <= %(old_jobs)s then %(old)s else %(target)s end::uuid,
    case when n <= 100 then 'paused' when n %% 3 = 0 and n %% 5 <> 0 then 'completed' else 'active' end,
    '{"every":"PT1H","anchor":"2027-01-01T00:00:00.000Z"}', '{"ledger":7}', '{"policy":"run_once","within":null}',
    'allow', '{"max_attempts":5}', 30000,
    jsonb_build_object('team', 'team-' || n %% 20, 'customer', 'customer-' || n / 10, 'env',
        case when n <= 300 then 'staging' else 'live' end, 'era', case when n <= %(old_jobs)s then 'old' else 'new' end,
        'side', case n %% 2 when 0 then 'left' else 'right' end,
        'hand', case n %% 2 when 0 then 'first' else 'second' end),
    %(now)s, %(now)s
from generate_series(1, %(jobs)s::bigint) as n
"""
DUE = """
insert into due (job_id, tenant_id, shard_id, next_run_at, scheduled_for)
select job_id, tenant_id, n %% 128, case when state = 'paused' then 'infinity' else at end, at
from (
    select job_id, tenant_id, n, state, %(now)s::timestamptz + n * interval '10 seconds' as at
    from (select job_id, tenant_id, state, row_number() over (order by job_id) as n from job where state <> 'completed')
        as numbered
) as placed
"""
RUNS = """
insert into run (job_id, scheduled_for, run_id, tenant_id, target_id, origin, lane, state, schedule_version, fire_at,
    next_attempt_at, wake_at, created_at)
select job_id, %(now)s::timestamptz + interval '1 minute', gen_random_uuid(), tenant_id, target_id, 'schedule',
    'shared', 'queued', 1, %(now)s, %(now)s, %(now)s, %(now)s
from (select * from job where state = 'completed' order by job_id offset %(before)s limit %(runs)s) as unfinished
"""
HISTORY = """
insert into run (job_id, scheduled_for, run_id, tenant_id, target_id, origin, lane, state, schedule_version, fire_at,
    next_attempt_at, created_at)
select job_id, %(now)s::timestamptz - (n %% 30) * interval '1 day', gen_random_uuid(), tenant_id, target_id, 'schedule',
    'shared', 'succeeded', 1, %(now)s, %(now)s, %(now)s
from (select *, row_number() over (order by job_id) as n from job where state = 'completed' order by job_id desc
    limit 100000) as finished
"""


def filters() -> dict[str, JobFilter]:
    """By what they are called in the result."""
    return {
        "none": JobFilter(),
        "state_common": JobFilter(state="active"),
        "state_rare": JobFilter(state="paused"),
        "state_completed": JobFilter(state="completed"),
        "tag_common": JobFilter(terms=search_terms(None, ["env:live"])),
        "tag_some": JobFilter(terms=search_terms(None, ["team:team-3"])),
        "tag_rare": JobFilter(terms=search_terms(None, ["env:staging"])),
        "tag_few": JobFilter(terms=search_terms(None, ["customer:customer-77"])),
        "tag_none": JobFilter(terms=search_terms(None, ["env:nowhere"])),
        "q_common": JobFilter(terms=search_terms("night", [])),
        "q_some": JobFilter(terms=search_terms("report team", [])),
        "q_rare": JobFilter(terms=search_terms("oldest", [])),
        "q_one_letter": JobFilter(terms=search_terms("s", [])),
        "q_none": JobFilter(terms=search_terms("nowhere", [])),
        "name": JobFilter(name="nightly-501"),
        "name_none": JobFilter(name="nowhere"),
        "name_prefix_common": JobFilter(name_pattern=like_prefix("nightly-")),
        "name_prefix_rare": JobFilter(name_pattern=like_prefix("oldest-")),
        "name_prefix_none": JobFilter(name_pattern=like_prefix("nowhere")),
        "target_common": JobFilter(target_name="target"),
        "target_rare": JobFilter(target_name="rare"),
        "target_none": JobFilter(target_name="nowhere"),
        "due_before_soon": JobFilter(due_before=NOW + timedelta(minutes=10)),
        "due_before_hours": JobFilter(due_before=NOW + timedelta(hours=24)),
        "due_before_all": JobFilter(due_before=NOW + timedelta(days=3650)),
        "due_before_nobody": JobFilter(due_before=NOW - timedelta(days=1)),
        "tag_and_state": JobFilter(state="active", terms=search_terms(None, ["team:team-3"])),
        "q_and_tag_and_target": JobFilter(terms=search_terms("report", ["env:live"]), target_name="target"),
        "many_words": JobFilter(terms=search_terms("n l r s f t c 1 2 3 4 5 6", [])),
        "old_tag": JobFilter(terms=search_terms(None, ["era:old"])),
        "old_q": JobFilter(terms=search_terms("arch", [])),
        "old_name_prefix": JobFilter(name_pattern=like_prefix("archive-")),
        "old_target": JobFilter(target_name="old"),
        "old_target_and_tag": JobFilter(target_name="old", terms=search_terms(None, ["era:old"])),
        "old_due_tenth": JobFilter(due_before=NOW + timedelta(days=11)),
        "old_due_half": JobFilter(due_before=NOW + timedelta(days=42)),
        "old_due_half_and_state": JobFilter(due_before=NOW + timedelta(days=42), state="active"),
        "old_due_half_and_name_prefix": JobFilter(
            due_before=NOW + timedelta(days=42), name_pattern=like_prefix("archive-")
        ),
        "disjoint_tags": JobFilter(terms=search_terms(None, ["side:left", "hand:second"])),
        "disjoint_words": JobFilter(terms=search_terms("left sec", [])),
        "disjoint_tag_and_name_prefix": JobFilter(
            terms=search_terms(None, ["side:left"]), name_pattern=like_prefix("archive-")
        ),
        "disjoint_target_and_state": JobFilter(target_name="old", state="completed"),
        "disjoint_target_and_name_prefix": JobFilter(target_name="old", name_pattern=like_prefix("oldest-")),
        "disjoint_due_and_tag": JobFilter(due_before=NOW + timedelta(days=42), terms=search_terms(None, ["era:new"])),
        "disjoint_due_and_state": JobFilter(due_before=NOW + timedelta(days=42), state="completed"),
    }


@contextmanager
def filled(jobs: int) -> Iterator[tuple[str, UUID, Callable[[], None]]]:
    """A server with the jobs of one tenant: how the API's role connects, the tenant, and what makes the backlog."""
    tenant_id = new_id(NOW)
    targets = {name: new_id(NOW) for name in ("target", "rare", "old")}
    values: dict[str, Any] = {"tenant": tenant_id, "jobs": jobs, "old_jobs": jobs * 9 // 10, "now": NOW, **targets}
    values |= {"before": 0, "runs": 1000}
    with throwaway_postgres() as server:
        with psycopg.connect(server.conninfo(), autocommit=True) as admin:
            bootstrap(admin)
            migrate(admin)
            admin.execute("select make_day_partitions(%s::date + n) from generate_series(-31, 2) as n", (NOW.date(),))
            admin.execute("insert into tenant (tenant_id, name) values (%s, 'acme')", (tenant_id,))
            for name, target_id in targets.items():
                admin.execute(
                    "insert into target (target_id, tenant_id, name, kind, config, config_sha256, created_at, "
                    "updated_at) values (%s, %s, %s, 'http', '{}', %s, %s, %s)",
                    (target_id, tenant_id, name, target_id.bytes * 2, NOW, NOW),
                )
            for statement in (JOBS, DUE, RUNS, HISTORY):
                admin.execute(statement, values)
        with psycopg.connect(server.conninfo(), autocommit=True) as admin:
            admin.execute("vacuum analyze")

        def fall_behind() -> None:
            with psycopg.connect(server.conninfo(), autocommit=True) as admin:
                admin.execute(RUNS, {**values, "before": 1000, "runs": 20_000})
                admin.execute("vacuum analyze run")

        yield server.conninfo(user="hourbell_api"), tenant_id, fall_behind


def page_ms(
    connection: psycopg.Connection[Any], tenant_id: UUID, only: JobFilter, before_id: UUID | None
) -> tuple[float, float]:
    """Median milliseconds of one page, and the mean of what the server computed for it."""
    server = psutil.Process(connection.info.backend_pid)
    before = sum(server.cpu_times()[:2])
    times = []
    for _ in range(REPEATS):
        with connection.transaction():
            introduce(connection, Actor(tenant_id=tenant_id, key_id=tenant_id, request_id=""))
            started = time.perf_counter()
            list_jobs(connection, tenant_id, only, before_id=before_id, limit=PAGE, now=NOW)
            times.append((time.perf_counter() - started) * 1000)
    computed = (sum(server.cpu_times()[:2]) - before) * 1000 / REPEATS
    return round(statistics.median(times), 2), round(computed, 1)


def count_pages(connection: psycopg.Connection[Any], tenant_id: UUID, only: JobFilter) -> int:
    """Pages that come short, and go on, before one that is full or the last."""
    before_id = None
    for pages in count(1):
        with connection.transaction():
            introduce(connection, Actor(tenant_id=tenant_id, key_id=tenant_id, request_id=""))
            page = list_jobs(connection, tenant_id, only, before_id=before_id, limit=PAGE, now=NOW)
        if page.through_id is None:
            return pages
        before_id = page.through_id
    raise AssertionError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON line and nothing else")
    parser.add_argument("--jobs", type=int, default=1_000_000)
    arguments = parser.parse_args()
    results: dict[str, list[float]] = {}
    cpu: dict[str, list[float]] = {}
    pages: dict[str, int] = {}
    middle = UUID(hex=f"{arguments.jobs // 2:012x}80008000{0:012x}")
    with (
        filled(arguments.jobs) as (conninfo, tenant_id, fall_behind),
        psycopg.connect(conninfo, prepare_threshold=None) as connection,
    ):

        def measure(name: str, only: JobFilter) -> None:
            both = [page_ms(connection, tenant_id, only, before_id) for before_id in (None, middle)]
            results[name], cpu[name] = [wall for wall, _ in both], [computed for _, computed in both]
            if (needed := count_pages(connection, tenant_id, only)) > 1:
                pages[name] = needed
            if not arguments.json:
                first, later = results[name]
                shown = f"{name:40} {first:9.2f} ms {later:9.2f} ms {max(cpu[name]):7.1f} ms cpu {needed:4} pages"
                print(shown, file=sys.stderr, flush=True)

        for name, only in filters().items():
            measure(name, only)
        fall_behind()
        for name, only in filters().items():
            if only.state is not None or only.due_before is not None:
                measure(f"backlog_{name}", only)
    worst, worst_cpu = (max(max(times) for times in found.values()) for found in (results, cpu))
    told = {"page_ms": results, "cpu_ms": cpu, "pages": pages, "worst_ms": worst, "worst_cpu_ms": worst_cpu}
    print(json.dumps({"jobs": arguments.jobs, **told}))


if __name__ == "__main__":
    main()
