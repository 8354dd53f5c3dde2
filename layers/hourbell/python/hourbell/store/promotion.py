"""From the cold tier into the hot one. Lock order: the lease, the bucket, then the rest."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, cast
from uuid import UUID

from hourbell.store.cold import SegmentPlace
from hourbell.store.connection import Connection
from hourbell.store.sql import query


class UnpromotedSegment(NamedTuple):
    """A segment, and the last of its jobs that is in the hot tier."""

    segment_id: UUID
    promoted_through: UUID | None
    place: SegmentPlace


def begin_promotion(connection: Connection, *, last_hour: int) -> list[int]:
    """Close the hours up to this one to creates; those that have something left, in order."""
    rows = connection.execute(query("begin_promotion"), {"last_hour": last_hour}).fetchall()
    return sorted(cast("int", row[0]) for row in rows)


def list_unpromoted_segments(connection: Connection, *, due_hour: int) -> list[UnpromotedSegment]:
    """What is left of an hour in segments, by their first ids."""
    rows = connection.execute(query("list_unpromoted_segments"), {"due_hour": due_hour}).fetchall()
    return [UnpromotedSegment(row[0], row[1], SegmentPlace(*row[2:])) for row in rows]


def take_intake(connection: Connection, *, due_hour: int, limit: int, most_bytes: int) -> list[str]:
    """Take the next records out of an hour's intake, for ``promote_jobs`` in the same transaction."""
    values = {"due_hour": due_hour, "limit": limit, "most_bytes": most_bytes}
    rows = connection.execute(query("take_intake"), values).fetchall()
    return [cast("str", row[0]) for row in rows]


def promote_jobs(connection: Connection, records: Sequence[str]) -> int:
    """Put jobs into the hot tier, by their records; how many were not there yet and had not left the cold tier.

    The caller holds their bucket (``cold_segments.lock_open_buckets``), so that no take-out gets between.
    """
    (jobs,) = connection.execute(query("promote_jobs"), {"records": "\n".join(records)}).fetchone() or (0,)
    return cast("int", jobs)


def advance_segment(connection: Connection, segment_id: UUID, *, through: UUID) -> None:
    """Remember, in the transaction that promotes them, how far a segment's jobs have come."""
    connection.execute(query("advance_segment"), {"segment_id": segment_id, "through": through})


def mark_segment(connection: Connection, segment_id: UUID, *, error: str) -> None:
    """Keep why a segment could not be read."""
    connection.execute(query("mark_segment"), {"segment_id": segment_id, "error": error})


def finish_promotion(connection: Connection, *, due_hour: int, now: datetime) -> bool:
    """Mark an hour as promoted, if nothing of it is left. The caller holds its bucket."""
    values = {"due_hour": due_hour, "now": now}
    return connection.execute(query("finish_promotion"), values).fetchone() is not None
