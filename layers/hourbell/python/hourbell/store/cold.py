"""The cold tier as the API sees it: the intake, the way out of the tier, and where one job or an hour's jobs are.

**One effective place.** A job that has a ``job`` row is hot. Otherwise, unless it has a tombstone, it is cold: in the
intake or, once frozen, in a segment of the catalogue. Records never change, so copies of one job are equal, and two of
them do no harm: a tombstone is about the job, not about a copy, and counts for all of them, also for those that a
freezer is just writing.

**Lock order** of everyone who writes here: names (``lock_names``), targets, buckets in the order of their hours, then
intake, tombstones and names, then due rows and jobs. Creates and take-outs share a bucket's lock; promotion, freezing
and compaction have it to themselves. Once it is yours, the bucket is what you see: a create that finds it no longer
``open`` goes to the hot tier, and a take-out that finds the job hot answers so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, cast
from uuid import UUID

from hourbell.store.arrays import integer_array, uuid_array
from hourbell.store.connection import Connection
from hourbell.store.sql import query

ALL_HOURS = (0, 1 << 24)


class IntakeJob(NamedTuple):
    """A cold job to be accepted. ``record``: its line, see ``hourbell.cold.record``."""

    job_id: UUID
    due_hour: int
    target_id: UUID
    record: str


class SegmentPlace(NamedTuple):
    """An object that may hold a job, as far as reading it goes (``cold.objects.StoredObject``)."""

    key: str
    version: str | None
    size: int
    sha256: bytes
    blocks: bytes


class ColdPlace(NamedTuple):
    """Where a cold job is: its record, or the segments to look in, the likeliest first."""

    record: str | None
    segments: tuple[SegmentPlace, ...]


class ListedSegment(NamedTuple):
    """A segment with jobs of a tenant. Those up to ``promoted_through`` are in the hot tier."""

    first_id: UUID
    promoted_through: UUID | None
    place: SegmentPlace


def share_buckets(connection: Connection, due_hours: Collection[int]) -> set[int]:
    """Those of these hours that take cold jobs until this transaction ends; jobs of the others go to the hot tier.

    Locks their buckets, shared; makes the missing ones. Before anything of the intake is touched, and once for all
    hours of the transaction.
    """
    hours = sorted(set(due_hours))
    if not hours:
        return set()
    values = {"due_hours": integer_array(hours)}
    found: dict[int, str] = dict(connection.execute(query("share_cold_buckets"), values).fetchall())
    if missing := [hour for hour in hours if hour not in found]:
        connection.execute(query("open_cold_buckets"), {"due_hours": integer_array(missing)})
        found = dict(connection.execute(query("share_cold_buckets"), values).fetchall())
    return {hour for hour, state in found.items() if state == "open"}


def add_to_intake(connection: Connection, tenant_id: UUID, accepted: Sequence[IntakeJob], *, now: datetime) -> None:
    """Accept cold jobs. The caller holds their buckets (``share_buckets``), and has found them open."""
    connection.execute(
        query("insert_intake"),
        {
            "tenant_id": tenant_id,
            "job_ids": uuid_array([job.job_id for job in accepted]),
            "due_hours": integer_array([job.due_hour for job in accepted]),
            "target_ids": uuid_array([job.target_id for job in accepted]),
            "records": [job.record for job in accepted],
            "now": now,
        },
    )


def find_cold_job(connection: Connection, tenant_id: UUID, job_id: UUID, *, due_hour: int) -> ColdPlace | None:
    """Where the tenant's job is, as one snapshot sees it; None: not in the cold tier (look into the hot one again)."""
    values = {"tenant_id": tenant_id, "job_id": job_id, "due_hour": due_hour}
    rows = connection.execute(query("find_cold_job"), values).fetchall()
    if not rows:
        return None
    record = cast("str | None", rows[0][0])
    return ColdPlace(record, tuple(SegmentPlace(*row[1:]) for row in rows if row[1] is not None))


def take_cold_job(
    connection: Connection, tenant_id: UUID, job_id: UUID, *, due_hour: int, target_id: UUID, now: datetime
) -> bool:
    """Take a job, whose record the caller has read, out of the cold tier for good; its name is free again.

    Shares the lock of its bucket. False: it is not cold any more: promoted, or taken out by somebody else (or by this
    very transaction, when its first commit was not heard of); look into the hot tier.
    """
    if not connection.execute(query("share_cold_buckets"), {"due_hours": integer_array([due_hour])}).fetchall():
        return False
    values = {"tenant_id": tenant_id, "job_id": job_id, "due_hour": due_hour, "target_id": target_id, "now": now}
    return connection.execute(query("take_cold_job"), values).fetchone() is not None


def lock_names(connection: Connection, tenant_id: UUID, names: Collection[str]) -> None:
    """Decide alone who has these names, in either tier, until the transaction ends: before any other lock.

    Whoever gives a job a name, hot or cold, does so: a name is unique over two tables, which no index can promise.
    A transaction-level advisory lock pins a proxied session no longer than its transaction.
    """
    connection.execute(query("lock_job_names"), {"tenant_id": tenant_id, "names": list(names)})


def find_named_jobs(connection: Connection, tenant_id: UUID, names: Collection[str]) -> dict[str, UUID]:
    """The jobs that have these names, in either tier."""
    rows = connection.execute(query("find_named_jobs"), {"tenant_id": tenant_id, "names": list(names)}).fetchall()
    return {cast("str", name): cast("UUID", job_id) for name, job_id in rows}


def hold_names(connection: Connection, tenant_id: UUID, names: Mapping[str, UUID]) -> set[UUID]:
    """Give cold jobs their names; the jobs that have theirs. The caller holds them (``lock_names``).

    Names of hot jobs are not looked at here (``find_named_jobs``).
    """
    values = {"tenant_id": tenant_id, "names": list(names), "job_ids": uuid_array(names.values())}
    return {cast("UUID", row[0]) for row in connection.execute(query("hold_cold_names"), values).fetchall()}


def count_cold_jobs(
    connection: Connection, tenant_id: UUID, *, hours: tuple[int, int] = ALL_HOURS, limit: int
) -> dict[int, int]:
    """How many cold jobs the tenant has in each hour from the first to the last, at most ``limit`` hours."""
    values = {"tenant_id": tenant_id, "first_hour": hours[0], "last_hour": hours[1], "limit": limit}
    return {cast("int", row[0]): cast("int", row[1]) for row in connection.execute(query("count_cold_jobs"), values)}


def is_target_cold(connection: Connection, target_id: UUID) -> bool:
    """Whether a cold job uses the target. The caller holds the target's lock, which no create gets past."""
    (used,) = connection.execute(query("is_target_cold"), {"target_id": target_id}).fetchone() or (False,)
    return bool(used)


def list_intake(
    connection: Connection, tenant_id: UUID, *, due_hour: int, after_id: UUID | None, limit: int
) -> list[str]:
    """Records of the tenant's jobs of one hour after this id that are in the intake, in the order of their ids."""
    values = {"tenant_id": tenant_id, "due_hour": due_hour, "after_id": after_id, "limit": limit}
    return [cast("str", row[0]) for row in connection.execute(query("list_intake"), values).fetchall()]


def list_tenant_segments(
    connection: Connection, tenant_id: UUID, *, due_hour: int, after_id: UUID | None
) -> list[ListedSegment]:
    """Segments of one hour in which jobs of the tenant after this id may be, by their first ids."""
    values = {"tenant_id": tenant_id, "due_hour": due_hour, "after_id": after_id}
    rows = connection.execute(query("list_tenant_segments"), values).fetchall()
    return [ListedSegment(row[0], row[1], SegmentPlace(*row[2:])) for row in rows]


def list_tombstones(connection: Connection, tenant_id: UUID, *, due_hour: int) -> set[UUID]:
    """The tenant's jobs of one hour that left the cold tier."""
    values = {"tenant_id": tenant_id, "due_hour": due_hour}
    return {cast("UUID", row[0]) for row in connection.execute(query("list_tombstones"), values).fetchall()}
