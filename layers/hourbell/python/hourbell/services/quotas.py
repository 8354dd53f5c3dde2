"""Quotas of tenants, asked where something is made: jobs at the end of its transaction, requests at their beginning."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from hourbell.domain.quotas import MAX_JOBS, MAX_REQUESTS_PER_SECOND, REQUEST_BURST_SECONDS
from hourbell.services.errors import QuotaError
from hourbell.store import quotas
from hourbell.store.connection import Connection, Database

RETRY_AFTER_SECONDS = 1


def check_job_quota(connection: Connection, tenant_id: UUID) -> None:
    """Refuse what this transaction has made if the tenant has more jobs now than it may; ask as late as possible.

    Raises:
        QuotaError: roll back.
    """
    count = quotas.count_jobs(connection, tenant_id)
    if count is not None and count.jobs > count.max_jobs:
        raise QuotaError(
            MAX_JOBS, f"the tenant may have {count.max_jobs:,} active and paused jobs, and would have {count.jobs:,}"
        )


def admit_request(database: Database, tenant_id: UUID, *, max_per_second: int, now: datetime) -> None:
    """Count a request of a tenant that may make only so many a second.

    Raises:
        QuotaError: it comes too early.
    """
    interval = timedelta(seconds=1 / max_per_second)
    tolerance = timedelta(seconds=REQUEST_BURST_SECONDS) - interval
    admitted = database.run(
        lambda connection: quotas.admit_request(connection, tenant_id, interval=interval, tolerance=tolerance, now=now)
    )
    if not admitted:
        raise QuotaError(
            MAX_REQUESTS_PER_SECOND,
            f"the tenant may make {max_per_second:,} requests a second",
            retry_after_seconds=RETRY_AFTER_SECONDS,
        )


def fold_job_changes(database: Database) -> None:
    """Add up the changes of tenants that made no jobs lately."""
    database.run(quotas.fold_job_changes)
