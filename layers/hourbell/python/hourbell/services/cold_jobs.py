"""Cold jobs by their address: added, found, taken out, listed hour by hour.

S3 is read outside of transactions, and what was read stays true, since records never change; only whether the job is
still cold is decided inside one, under its bucket's lock (``store.cold``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from datetime import datetime
from heapq import heappop, heappush, merge
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from hourbell.cold.errors import SegmentError
from hourbell.cold.objects import ColdObjects, StoredObject
from hourbell.cold.patience import REQUEST_SECONDS
from hourbell.cold.record import ColdJob, decode_record, encode_record, record_id
from hourbell.cold.segment import BlockRange, blocks_after
from hourbell.domain.ids import job_due_hour
from hourbell.store import cold
from hourbell.store.cold import IntakeJob, ListedSegment, SegmentPlace
from hourbell.store.connection import Connection, Database

BLOCKS_PER_READ = 32


class ReadJobs(NamedTuple):
    """Cold jobs of one hour. ``through``: the last id that was looked at, when there may be more after it."""

    jobs: list[ColdJob]
    through: UUID | None
    reads: int


def add_cold_jobs(connection: Connection, tenant_id: UUID, accepted: Sequence[ColdJob], *, now: datetime) -> None:
    """Accept cold jobs in the caller's transaction, which holds their open buckets (``cold.share_buckets``).

    Names are the caller's (``cold.hold_names``).
    """
    rows = [IntakeJob(job.job_id, job_due_hour(job.job_id), job.target_id, encode_record(job)) for job in accepted]
    cold.add_to_intake(connection, tenant_id, rows, now=now)


def find_cold_job(database: Database, objects: ColdObjects, tenant_id: UUID, job_id: UUID) -> ColdJob | None:
    """The tenant's cold job. None: it is not cold (any more); who has not found it in the hot tier looks there again.

    One transaction and one read of S3, unless segments of the bucket overlap there: they are written in the order of
    ids, and ids are made in the order of time. An object that went away meanwhile is asked for in the catalogue once
    more. All of that within ``REQUEST_SECONDS``.

    Raises:
        ColdUnavailableError: S3 does not answer in time.
        SegmentError: the segment that should hold the job is missing or damaged.
    """
    due_hour = job_due_hour(job_id)
    if due_hour == 0:
        return None
    objects = objects.within(REQUEST_SECONDS)
    first = _find_once(database, objects, tenant_id, job_id, due_hour)
    if not isinstance(first, SegmentError):
        return first
    second = _find_once(database, objects, tenant_id, job_id, due_hour)
    if isinstance(second, SegmentError):
        raise second
    return second


def take_cold_job(connection: Connection, job: ColdJob, *, now: datetime) -> bool:
    """Take a job that ``find_cold_job`` found out of the cold tier for good, in the caller's transaction.

    True: from the commit on no copy of it counts; the caller writes what becomes of it (a hot job with the same id, or
    nothing) in the same transaction. False: it is not cold any more, look into the hot tier. Lock order: the bucket
    comes after names and targets, and before due rows and jobs.
    """
    return cold.take_cold_job(
        connection,
        job.tenant_id,
        job.job_id,
        due_hour=job_due_hour(job.job_id),
        target_id=job.target_id,
        now=now,
    )


def list_cold_jobs(
    database: Database,
    objects: ColdObjects,
    tenant_id: UUID,
    *,
    due_hour: int,
    after_id: UUID | None = None,
    limit: int,
) -> list[ColdJob]:
    """The tenant's cold jobs of one hour after this id, in the order of their ids.

    The hours are in ``store.cold.count_cold_jobs``. Reads blocks of the hour's segments that hold jobs of this tenant
    until ``limit`` are found.

    Raises:
        ColdUnavailableError, SegmentError.
    """
    return read_cold_jobs(database, objects, tenant_id, due_hour=due_hour, after_id=after_id, limit=limit).jobs


def read_cold_jobs(
    database: Database,
    objects: ColdObjects,
    tenant_id: UUID,
    *,
    due_hour: int,
    after_id: UUID | None = None,
    limit: int,
    max_reads: int | None = None,
) -> ReadJobs:
    """As ``list_cold_jobs``, with no more than about ``max_reads`` reads of S3, and while ``objects`` has time.

    But some way it always gets.

    Raises:
        ColdUnavailableError, SegmentError.
    """

    def read(connection: Connection) -> tuple[list[str], list[ListedSegment], set[UUID]]:
        return (
            cold.list_intake(connection, tenant_id, due_hour=due_hour, after_id=after_id, limit=limit),
            cold.list_tenant_segments(connection, tenant_id, due_hour=due_hour, after_id=after_id),
            cold.list_tombstones(connection, tenant_id, due_hour=due_hour),
        )

    intake, segments, gone = database.run(read)
    needle = f'"tenant_id":"{tenant_id}"'.encode()
    reads = _Reads(objects)
    found: list[ColdJob] = []
    for line in merge([record.encode() for record in intake], _in_order(reads, segments, after_id)):
        job_id = record_id(line)
        if needle in line and job_id not in gone and not (found and found[-1].job_id == job_id):
            job = decode_record(line)
            if job.tenant_id == tenant_id:
                found.append(job)
        if len(found) == limit or (max_reads is not None and reads.count >= max_reads) or objects.is_late():
            return ReadJobs(found, job_id, reads.count)
    return ReadJobs(found, None, reads.count)


class _Reads:
    """Reads blocks, and counts how often."""

    def __init__(self, objects: ColdObjects) -> None:
        self._objects = objects
        self.count = 0

    def get_blocks(self, stored: StoredObject, blocks: Sequence[BlockRange]) -> list[bytes]:
        self.count += 1
        return self._objects.get_blocks(stored, blocks)


def _find_once(
    database: Database, objects: ColdObjects, tenant_id: UUID, job_id: UUID, due_hour: int
) -> ColdJob | SegmentError | None:
    place = database.run(lambda c: cold.find_cold_job(c, tenant_id, job_id, due_hour=due_hour))
    if place is None:
        return None
    if place.record is not None:
        return decode_record(place.record)
    problem: SegmentError | None = None
    for segment in place.segments:
        try:
            line = objects.find(_stored(segment), job_id)
        except SegmentError as error:
            problem = error
            continue
        if line is not None:
            job = decode_record(line)
            return job if job.tenant_id == tenant_id else None
    return problem


def _in_order(objects: _Reads, segments: Sequence[ListedSegment], after_id: UUID | None) -> Iterator[bytes]:
    """The lines of all segments after this id, sorted; a segment is opened once the lines reach its first id."""
    waiting = deque(segments)
    heads: list[tuple[bytes, int, Iterator[bytes]]] = []
    while waiting or heads:
        while waiting and (not heads or waiting[0].first_id <= record_id(heads[0][0])):
            _advance(heads, len(waiting), _lines(objects, waiting.popleft(), after_id))
        if heads:
            line, number, lines = heappop(heads)
            yield line
            _advance(heads, number, lines)


def _advance(heads: list[tuple[bytes, int, Iterator[bytes]]], number: int, lines: Iterator[bytes]) -> None:
    line = next(lines, None)
    if line is not None:
        heappush(heads, (line, number, lines))


def _lines(objects: _Reads, segment: ListedSegment, after_id: UUID | None) -> Iterator[bytes]:
    """One segment's lines, read by ever more blocks at a time."""
    stored = _stored(segment.place)
    start = max((one for one in (after_id, segment.promoted_through) if one is not None), default=None)
    blocks, size = blocks_after(stored.blocks, stored.size, start), 1
    while some := list(islice(blocks, size)):
        for line in objects.get_blocks(stored, some):
            if start is None or record_id(line) > start:
                yield line
        size = min(2 * size, BLOCKS_PER_READ)


def _stored(place: SegmentPlace) -> StoredObject:
    return StoredObject(*place)
