"""The catalogue as the freezer writes it. Lock order: the lease, buckets in the order of their hours, then the rest."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, cast
from uuid import UUID

from hourbell.store.arrays import integer_array, uuid_array
from hourbell.store.cold import SegmentPlace
from hourbell.store.connection import Connection
from hourbell.store.sql import query


class IntakeBucket(NamedTuple):
    """What waits in the intake for one hour."""

    due_hour: int
    jobs: int
    oldest_id: UUID


class CatalogueEntry(NamedTuple):
    """A verified object, to be entered into the catalogue. ``size`` and ``text_bytes``: packed and unpacked."""

    segment_id: UUID
    object_key: str
    object_version: str | None
    due_hour: int
    first_id: UUID
    last_id: UUID
    jobs: int
    size: int
    text_bytes: int
    sha256: bytes
    blocks: bytes


class LiveSegment(NamedTuple):
    """A segment as compaction sees it."""

    segment_id: UUID
    due_hour: int
    jobs: int
    text_bytes: int
    place: SegmentPlace


def list_intake_buckets(connection: Connection, *, after_hour: int, least: int) -> list[IntakeBucket]:
    """The hours after this one that have at least ``least`` jobs in the intake."""
    rows = connection.execute(query("list_intake_buckets"), {"after_hour": after_hour, "least": least}).fetchall()
    return [IntakeBucket(*row) for row in rows]


def read_intake(
    connection: Connection, *, due_hour: int, after_id: UUID | None, limit: int, most_bytes: int
) -> list[tuple[UUID, str]]:
    """The next ids and records of an hour's intake; nothing is locked."""
    values = {"due_hour": due_hour, "after_id": after_id, "limit": limit, "most_bytes": most_bytes}
    return cast("list[tuple[UUID, str]]", connection.execute(query("read_intake"), values).fetchall())


def lock_open_buckets(connection: Connection, due_hours: Sequence[int]) -> set[int]:
    """Have these buckets to oneself; those that are open, and stay so until the transaction ends."""
    values = {"due_hours": integer_array(sorted(set(due_hours)))}
    return {cast("int", row[0]) for row in connection.execute(query("lock_cold_buckets"), values).fetchall()}


def insert_segment(connection: Connection, entry: CatalogueEntry, *, now: datetime) -> bool:
    """Enter an object; False when it is there already. The caller holds its bucket."""
    return connection.execute(query("insert_segment"), {**entry._asdict(), "now": now}).rowcount == 1


def take_over_intake(connection: Connection, job_ids: Sequence[UUID], *, due_hour: int, segment_id: UUID) -> int:
    """Move jobs from the intake into a segment just entered; how many were still there."""
    values = {"job_ids": uuid_array(job_ids), "due_hour": due_hour, "segment_id": segment_id}
    (jobs,) = connection.execute(query("take_over_intake"), values).fetchone() or (0,)
    return cast("int", jobs)


def list_small_segments(connection: Connection, *, after_hour: int, least: int) -> list[LiveSegment]:
    """The segments of those open hours after this one that have at least ``least``."""
    rows = connection.execute(query("list_small_segments"), {"after_hour": after_hour, "least": least}).fetchall()
    return [LiveSegment(row[0], row[1], row[2], row[3], SegmentPlace(*row[4:])) for row in rows]


def retire_segments(connection: Connection, segment_ids: Sequence[UUID], *, by: UUID, now: datetime) -> int:
    """Let the segment ``by`` take the place of live ones; how many of them there were."""
    values = {"segment_ids": uuid_array(segment_ids), "segment_id": by, "now": now}
    (segments,) = connection.execute(query("retire_segments"), values).fetchone() or (0,)
    return cast("int", segments)


def list_removable_segments(
    connection: Connection, *, retired_before: datetime, last_hour: int, limit: int
) -> list[tuple[UUID, str]]:
    """Ids and keys of segments whose objects nobody needs any more."""
    values = {"retired_before": retired_before, "last_hour": last_hour, "limit": limit}
    rows = connection.execute(query("list_removable_segments"), values).fetchall()
    return cast("list[tuple[UUID, str]]", rows)


def delete_segments(connection: Connection, segment_ids: Sequence[UUID]) -> None:
    """Forget segments whose objects were deleted."""
    connection.execute(query("delete_segments"), {"segment_ids": uuid_array(segment_ids)})


def delete_buckets(connection: Connection, *, retired_before: datetime, last_hour: int) -> int:
    """Forget hours that are over, and their tombstones; how many."""
    values = {"retired_before": retired_before, "last_hour": last_hour}
    return connection.execute(query("delete_buckets"), values).rowcount
