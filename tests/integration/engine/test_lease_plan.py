"""Leasing and completing plan for the partitions they touch. A run is leased at its millisecond: planning for every day
that is kept took 10 ms with a week of partitions, and 100 ms with a month."""

from __future__ import annotations

import re
from datetime import timedelta

import psycopg
import pytest
from hourbell.domain.ids import new_id
from hourbell.store.partitions import make_partitions
from hourbell.store.sql import query

from tests.seeds import T0, Seeder

ONE_RUN = {
    "scheduled_for": [T0],
    "first": T0,
    "last": T0,
    "now": T0,
    "lease": timedelta(seconds=60),
    "checked": [False],
    "lanes": ["shared"],
    "paused_hold_off": timedelta(seconds=60),
    "puller": None,
}
ONE_OUTCOME = {
    **ONE_RUN,
    "states": ["succeeded"],
    "reasons": [None],
    "errors": [None],
    "next_attempt_at": [None],
    "wake_at": [None],
    "outcomes": ["succeeded"],
    "status_codes": [200],
    "durations_ms": [1],
}


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        ("lease_runs", ONE_RUN),
        ("extend_leases", ONE_RUN),
        ("complete_runs", ONE_OUTCOME),
        ("cancel_run", {"scheduled_for": T0, "now": T0}),
    ],
    ids=["lease", "extend", "complete", "cancel"],
)
def test_the_plan_knows_one_day_of_a_month(conninfo: str, seed: Seeder, statement: str, values: dict[str, object]):
    job_id = seed.job()
    with psycopg.connect(conninfo, autocommit=True) as connection:
        make_partitions(connection, today=T0.date() - timedelta(days=15), days_ahead=30)
        seed.run(job_id)
        given = {**values, "job_ids": [job_id], "job_id": job_id, "tokens": [new_id(T0)]}
        plan = "\n".join(str(row[0]) for row in connection.execute(b"explain " + query(statement), given))
    partitions = set(re.findall(r"\b(?:run|attempt)_\d{8}\b", plan))
    assert partitions <= {f"run_{T0:%Y%m%d}", f"attempt_{T0:%Y%m%d}"}
    assert f"run_{T0:%Y%m%d}" in partitions
