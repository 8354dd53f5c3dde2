"""What counts against the quotas of tenants. The rows that others wait for are locked late, and one tenant's alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple, cast
from uuid import UUID

from hourbell.store.arrays import instant_array, integer_array, uuid_array
from hourbell.store.connection import Connection
from hourbell.store.sql import query

FOLDED_AT_ONCE = 10_000

# By tenant and minute: how many runs have a moment in it.
GivenMinutes = Mapping[UUID, Mapping[datetime, int]]


class JobCount(NamedTuple):
    """How many active and paused jobs a tenant has, with this transaction's, and how many it may have."""

    jobs: int
    max_jobs: int


class RunQuota(NamedTuple):
    """A locked tenant with a quota of runs."""

    tenant_id: UUID
    max_runs_per_minute: int


def count_jobs(connection: Connection, tenant_id: UUID) -> JobCount | None:
    """Count what the transaction has made; from here to the commit others who make jobs of the tenant wait.

    None: the tenant has no quota of jobs, and nobody waits.
    """
    row = connection.execute(query("count_jobs"), {"tenant_id": tenant_id}).fetchone()
    return None if row is None else JobCount(*row)


def fold_job_changes(connection: Connection) -> None:
    """Add up what nobody else has; keeps the list of changes short."""
    connection.execute(query("fold_job_changes"), {"limit": FOLDED_AT_ONCE})


def admit_request(
    connection: Connection, tenant_id: UUID, *, interval: timedelta, tolerance: timedelta, now: datetime
) -> bool:
    """Whether a request may be answered now; it counts if so (GCRA, ``domain.pacing``)."""
    values = {"tenant_id": tenant_id, "interval": interval, "tolerance": tolerance, "now": now}
    return connection.execute(query("admit_request"), values).rowcount == 1


def lock_run_quotas(connection: Connection, tenant_ids: Collection[UUID]) -> list[RunQuota]:
    """Lock those of these tenants that have a quota of runs."""
    rows = connection.execute(query("lock_run_quotas"), {"tenant_ids": sorted(tenant_ids)}).fetchall()
    return [RunQuota(*row) for row in rows]


def fetch_tenant_minutes(
    connection: Connection, tenant_ids: Collection[UUID], *, since: datetime
) -> dict[UUID, dict[datetime, int]]:
    """What was given away, from this minute on; every one of the tenants is in the answer."""
    if not tenant_ids:
        return {}
    found: dict[UUID, dict[datetime, int]] = {tenant_id: {} for tenant_id in tenant_ids}
    rows = connection.execute(query("fetch_tenant_minutes"), {"tenant_ids": list(tenant_ids), "since": since})
    for tenant_id, minute, runs in rows.fetchall():
        found[cast("UUID", tenant_id)][minute] = cast("int", runs)
    return found


def write_tenant_minutes(connection: Connection, given: GivenMinutes, *, since: datetime) -> None:
    """Write what is given away now, for tenants that the caller holds locked."""
    rows = sorted((tenant_id, minute, runs) for tenant_id, of in given.items() for minute, runs in of.items())
    connection.execute(
        query("write_tenant_minutes"),
        {
            "tenant_ids": uuid_array([row[0] for row in rows]),
            "minutes": instant_array([row[1] for row in rows]),
            "runs": integer_array([row[2] for row in rows]),
            "since": since,
        },
    )
