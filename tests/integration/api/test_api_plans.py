"""What a list costs does not grow with what it does not show: the plans of the read statements."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from hourbell.store.arrays import uuid_array
from hourbell.store.job_lists import JobFilter
from hourbell.store.runs_read import RunFilter
from hourbell.store.sql import query
from hourbell.store.tenant_database import Actor, introduce

from tests.integration.api.conftest import Client
from tests.seeds import T0

RUNS = """
insert into run (job_id, scheduled_for, run_id, tenant_id, target_id, origin, lane, state, schedule_version,
    fire_at, next_attempt_at, wake_at, created_at)
select gen_random_uuid(), at, gen_random_uuid(), %(tenant)s, gen_random_uuid(), 'schedule', 'shared', 'succeeded', 1,
    at, at, null, at
from (select %(start)s::timestamptz + n * interval '20 seconds' as at from generate_series(1, 20000) as n) as times
"""
SORTS = re.compile(r"-> +(Incremental )?Sort")
JOBS = """
insert into job (job_id, tenant_id, target_id, state, schedule, payload, catch_up, overlap, retry, timeout_ms, tags,
    created_at, updated_at)
select gen_random_uuid(), %(tenant)s, %(target)s, case n %% 100 when 0 then 'paused' else 'active' end,
    '{}', '1', '{}', 'allow', '{}', 1000, '{}', now(), now()
from generate_series(1, 20000) as n
"""
DUE = """
insert into due (job_id, tenant_id, shard_id, next_run_at, scheduled_for)
select job_id, tenant_id, n %% 128, at, at
from (
    select job_id, tenant_id, n, %(start)s::timestamptz + (n - 10) * interval '1 minute' as at
    from (select job_id, tenant_id, row_number() over () as n from job) as numbered
) as placed
"""


@pytest.fixture
def filled(client: Client, admin):
    (target,) = admin.execute("select target_id from target").fetchone()
    admin.execute("select make_day_partitions(%s::date + n) from generate_series(0, 5) as n", (T0.date(),))
    admin.execute(RUNS, {"tenant": client.tenant_id, "start": T0})
    admin.execute(JOBS, {"tenant": client.tenant_id, "target": target})
    admin.execute("analyze run")
    admin.execute(DUE, {"start": T0})
    admin.execute("analyze job")
    admin.execute("analyze due")
    return admin


def plan(admin, name: str, parameters: dict) -> str:
    rows = admin.execute(b"explain (costs off) " + query(name), parameters).fetchall()
    return "\n".join(row[0] for row in rows)


@pytest.mark.parametrize("position", [None, (T0 + timedelta(hours=50), UUID(int=0))], ids=["first page", "later page"])
def test_a_page_of_runs_reads_the_index_in_its_order(client: Client, filled, position):
    before_at, after_job_id = position or (None, None)
    keys = {"tenant_id": client.tenant_id, "before_at": before_at, "after_job_id": after_job_id, "limit": 51, "now": T0}

    for only in (RunFilter(), RunFilter(state="succeeded"), RunFilter(from_at=T0, to_at=T0 + timedelta(hours=99))):
        shown = plan(filled, "list_runs", {**only._asdict(), **keys})
        assert not SORTS.search(shown)
        assert "Seq Scan on run_2" not in shown


@pytest.mark.parametrize(
    ("state", "index"),
    [
        ("dead", "state_scheduled_for"),
        ("cancelled", "state_scheduled_for"),
        ("skipped", "state_scheduled_for"),
        ("running", "wake_at"),
    ],
)
def test_what_few_runs_are_is_not_looked_for_among_all(client: Client, filled, state: str, index: str):
    keys = {"tenant_id": client.tenant_id, "before_at": None, "after_job_id": None, "limit": 51, "now": T0}

    shown = plan(filled, "list_runs", {**RunFilter(state=state)._asdict(), **keys})

    assert re.search(f"Index (Only )?Scan (using|on) run_2027[0-9]*_.*{index}", shown)
    assert "Seq Scan on run_2" not in shown


def test_the_runs_of_one_job_are_found_by_their_key(client: Client, filled):
    keys = {"tenant_id": client.tenant_id, "before_at": None, "after_job_id": None, "limit": 51, "now": T0}

    shown = plan(filled, "list_runs", {**RunFilter(job_id=uuid4())._asdict(), **keys})

    assert "Seq Scan on run_2" not in shown
    assert "tenant_idx" not in shown


# What each way of finding jobs must read; as the API's role, so that row policies have their say.
ORDERED = "Scan Backward using job_(tenant_idx|pkey)"
WINDOW = {"through_id": UUID(int=(1 << 128) // 8 * 7)}
READS = {
    "list_jobs": [
        ({}, ORDERED),
        ({"name": "x"}, "job_name_key|job_prefix_idx"),
        ({"among": uuid_array([UUID(int=7)])}, "job_pkey|job_tenant_idx"),
        ({**WINDOW, "name_pattern": "x%"}, "job_tenant_idx|job_pkey"),
        ({**WINDOW, "terms": "'a' & 'b':*"}, "job_tenant_idx|job_pkey"),
        ({**WINDOW, "due_before": T0}, "Index (Only )?Scan using due_pkey"),
        ({**WINDOW, "state": "active", "unknown_from": T0}, "Index (Only )?Scan using run_2027[0-9]*_pkey"),
    ],
    "find_job_before": [({}, ORDERED)],
    "find_jobs_in_state": [({"state": "active"}, "Scan Backward using job_state_idx")],
    "find_jobs_of_target": [({"target_id": "sink"}, "Scan Backward using job_of_target_idx")],
    "find_jobs_by_name": [({"name_pattern": "job%"}, "Scan using job_prefix_idx")],
    "find_jobs_by_terms": [({"terms": ["'a'", "'b':*"]}, "job_terms_idx")],
    "sample_jobs_by_terms": [({"terms": ["'a'"]}, "job_sample_idx")],
}


def test_a_page_of_jobs_reads_an_index_and_only_what_it_shows(client: Client, filled, subtests):
    for statement, only, index in [(name, only, index) for name, ways in READS.items() for only, index in ways]:
        with subtests.test(statement, only=only):
            shown = page_plan(client, filled, statement, only)
            assert re.search(index, shown)
            assert "Seq Scan on job" not in shown
            if "Scan" in index:
                assert not SORTS.search(shown)
            if "through_id" in only:
                assert not re.search("job_terms_idx|job_prefix_idx", shown)


def page_plan(client: Client, admin, statement: str, only: dict) -> str:
    """How the API's role finds the jobs of a page, before it reads them."""
    values = {
        **JobFilter()._asdict(),
        "terms": None,
        "tenant_id": client.tenant_id,
        "before_id": None,
        "through_id": None,
        "among": None,
        "unfinished": uuid_array([]),
        "unknown_from": datetime.max.replace(tzinfo=UTC),
        "planned_from": T0,
        "planned_to": T0 + timedelta(days=1),
        "limit": 51,
        "skipped": 1000,
        **only,
    }
    if only.get("target_id") == "sink":
        (values["target_id"],) = admin.execute("select target_id from target").fetchone()

    def explain(connection) -> str:
        introduce(connection, Actor(tenant_id=client.tenant_id, key_id=client.tenant_id, request_id=""))
        return plan(connection, statement, values)

    page, _, _ = client.application._api.scheduler.database.run(explain).partition("CTE Scan on page")
    return page


def test_what_is_read_of_all_tenants_is_read_by_an_index(filled, subtests):
    for function, index in {
        "waiting_jobs": "due_shard_next_idx",
        "unfinished_jobs": "run_2027[0-9]*_wake_at_idx",
    }.items():
        (body,) = filled.execute("select pg_get_function_sqlbody(%s::regproc)", (function,)).fetchone()
        of_all = re.sub(rf"{function}\.(\w+)", lambda given: "2000" if given[1] == "most" else "'infinity'", body)
        rows = filled.execute("explain (costs off) select " + of_all.removeprefix("RETURN ")).fetchall()

        shown = "\n".join(row[0] for row in rows)
        with subtests.test(function):
            assert re.search(index, shown)
            assert not re.search("Seq Scan on (due|run_2)", shown)
