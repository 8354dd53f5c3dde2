"""The catalogue as those see it who verify and repair it: its owner, who sees all rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, cast
from uuid import UUID

from hourbell.store.arrays import integer_array, uuid_array
from hourbell.store.cold import SegmentPlace
from hourbell.store.connection import Connection
from hourbell.store.sql import query

BEFORE_ALL = UUID(int=0)


class CataloguedSegment(NamedTuple):
    """A live segment. ``content``: how many jobs it took over from the intake."""

    segment_id: UUID
    due_hour: int
    first_id: UUID
    last_id: UUID
    jobs: int
    content: int
    place: SegmentPlace


class SegmentFacts(NamedTuple):
    """What a segment's row says of its object."""

    object_version: str | None
    first_id: UUID
    last_id: UUID
    jobs: int
    size: int
    text_bytes: int
    sha256: bytes
    blocks: bytes


def list_live_segments(
    connection: Connection, *, after: tuple[int, UUID] = (0, BEFORE_ALL), limit: int
) -> list[CataloguedSegment]:
    """The next live segments, by hour and id."""
    values = {"after_hour": after[0], "after_id": after[1], "limit": limit}
    rows = connection.execute(query("list_live_segments"), values).fetchall()
    return [CataloguedSegment._make((*row[:6], SegmentPlace(*row[6:]))) for row in rows]


def count_live_segments(connection: Connection) -> int:
    """How many there are."""
    (count,) = connection.execute(query("count_live_segments")).fetchone() or (0,)
    return cast("int", count)


def find_known_keys(connection: Connection, keys: Collection[str]) -> set[str]:
    """Those of these objects that the catalogue knows, in whatever state."""
    rows = connection.execute(query("find_known_keys"), {"keys": list(keys)}).fetchall()
    return {cast("str", row[0]) for row in rows}


def find_accounted_jobs(connection: Connection, job_ids: Collection[UUID]) -> set[UUID]:
    """Those of these jobs that are hot, in the intake, or left the cold tier: no segment is needed for them."""
    rows = connection.execute(query("find_accounted_jobs"), {"job_ids": uuid_array(job_ids)}).fetchall()
    return {cast("UUID", row[0]) for row in rows}


def lock_bucket(connection: Connection, due_hour: int) -> None:
    """Have an hour to oneself until the transaction ends; it is made when it is missing."""
    values = {"due_hours": integer_array([due_hour])}
    connection.execute(query("open_cold_buckets"), values)
    connection.execute(query("lock_cold_buckets"), values)


def rewrite_segment(connection: Connection, segment_id: UUID, facts: SegmentFacts) -> bool:
    """Write what an object is into its row, and forget the error; False: the segment is not live any more."""
    written = connection.execute(query("rewrite_segment"), {**facts._asdict(), "segment_id": segment_id})
    return written.rowcount == 1


def add_content(
    connection: Connection,
    segment_id: UUID,
    content: Collection[tuple[UUID, UUID]],
    *,
    due_hour: int,
) -> None:
    """Say whose jobs a segment holds: (tenant, target) of each."""
    values = {
        "segment_id": segment_id,
        "due_hour": due_hour,
        "tenant_ids": uuid_array([tenant_id for tenant_id, _ in content]),
        "target_ids": uuid_array([target_id for _, target_id in content]),
    }
    connection.execute(query("add_content"), values)


def move_content(
    connection: Connection, jobs: Collection[tuple[UUID, UUID, UUID]], *, from_segment: UUID, to_segment: UUID
) -> None:
    """Let one segment count jobs, (job, tenant, target) each, that another has counted until now."""
    values = {
        "job_ids": uuid_array([job_id for job_id, _, _ in jobs]),
        "tenant_ids": uuid_array([tenant_id for _, tenant_id, _ in jobs]),
        "target_ids": uuid_array([target_id for _, _, target_id in jobs]),
        "from_segment": from_segment,
        "to_segment": to_segment,
    }
    connection.execute(query("move_content"), values)
