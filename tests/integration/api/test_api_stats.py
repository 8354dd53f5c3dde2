"""``/v1/stats``: right for its tenant, silent about others, bounded in cost."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from hourbell.api.schemas import REPLIES
from hourbell.services import stats

from tests.integration.api.conftest import Client
from tests.seeds import T0

RUN = """
insert into run (job_id, scheduled_for, run_id, tenant_id, target_id, origin, lane, state, schedule_version,
    fire_at, next_attempt_at, wake_at, started_at, created_at)
values (%(job)s, %(at)s, %(job)s, %(tenant)s, %(job)s, 'schedule', 'shared', %(state)s, 1,
    %(at)s, %(at)s, %(wake)s, %(started)s, %(at)s)
"""


def run(admin, client: Client, at, *, state: str = "succeeded", late_ms: int | None = None) -> None:
    started = None if late_ms is None else at + timedelta(milliseconds=late_ms)
    wake = at if state in ("queued", "retrying") else None
    values = {"job": uuid4(), "tenant": client.tenant_id, "at": at, "state": state, "wake": wake, "started": started}
    admin.execute(RUN, values)


def counted(client: Client) -> dict:
    answer = client.get("/v1/stats")
    assert answer.status == 200, answer.text
    REPLIES["Stats"].model_validate(answer.json)
    return answer.json


def test_a_tenant_that_has_nothing_has_nothing(client: Client):
    found = counted(client)
    assert found["jobs"] == {"active": 0, "paused": 0, "completed": 0, "capped": False}
    assert found["oldest_due_age_ms"] is None
    assert found["lateness_ms"] == {"p50": None, "p95": None, "p99": None}
    assert found["queues"] == {"shared": 0, "solo": 0, "pull": 0}
    assert found["runs"]["since"] == "2027-05-09T11:00:00.000Z"


def test_jobs_and_runs_are_counted_for_their_own_tenant(client: Client, stranger: Client, admin):
    client.job()
    client.job(paused=True)
    for late in range(100):
        run(admin, client, T0 - timedelta(minutes=1), late_ms=late)
    run(admin, client, T0 - timedelta(minutes=2), state="queued")
    run(admin, client, T0 - timedelta(minutes=2), late_ms=-60_000)  # held by a pause after it had started
    run(admin, client, T0 - timedelta(minutes=61), state="dead", late_ms=90_000)
    run(admin, stranger, T0 - timedelta(minutes=1), state="dead")

    found = counted(client)

    assert found["jobs"] == {"active": 1, "paused": 1, "completed": 0, "capped": False}
    assert (found["runs"]["succeeded"], found["runs"]["queued"], found["runs"]["dead"]) == (101, 1, 0)
    assert found["lateness_ms"] == {"p50": 49, "p95": 94, "p99": 98}
    assert found["queues"]["shared"] == 1
    assert counted(stranger)["runs"]["dead"] == 1
    assert counted(stranger)["jobs"]["active"] == 0


def test_the_most_overdue_job_tells_how_far_behind_planning_is(client: Client, stranger: Client, admin):
    client.job()
    admin.execute("update due set next_run_at = %s", (T0 - timedelta(seconds=90),))
    assert counted(client)["oldest_due_age_ms"] == 90_000
    assert counted(stranger)["oldest_due_age_ms"] is None


def test_no_more_than_so_many_are_looked_at(client: Client, admin, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stats, "JOBS_LOOKED_AT", 2)
    monkeypatch.setattr(stats, "RUNS_LOOKED_AT", 2)
    for minute in range(1, 5):
        client.job(paused=True)
        run(admin, client, T0 - timedelta(minutes=minute))
    found = counted(client)
    assert (found["jobs"]["paused"], found["jobs"]["capped"]) == (2, True)
    assert (found["runs"]["succeeded"], found["runs"]["capped"]) == (2, True)
    assert found["runs"]["since"] == "2027-05-09T11:58:00.000Z"
