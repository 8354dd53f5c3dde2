"""The loader: every hour that begins within two hours moves into the hot tier.

    open ──▶ promoting ──▶ promoted          a bucket's states, and its promotion:

1. Under the lease, close every hour up to ``domain.cold.last_hot_hour``: the transaction waits for creates that hold
   the bucket, and every create after it goes to the hot tier by itself.
2. Hour by hour, the nearest first: first what is in the intake, then segment by segment, each read whole and verified
   before the first of its jobs counts.
3. A chunk of jobs is one transaction: the bucket is locked, so that no take-out gets between; jobs with a tombstone and
   jobs that are hot already are passed over; how far the segment has come is remembered with it. A crash anywhere
   repeats nothing and leaves nothing out.
4. When nothing of the hour is left it is ``promoted``. What turns up there later (a repaired segment) is promoted too.

A segment that is missing or damaged is never passed over in silence: it stays live, its error stands in the catalogue,
in the log and in a metric, the rest of the hour goes on, and each tick tries it again. The hour is not promoted before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

import psycopg

from hourbell.cold.errors import ColdUnavailableError, RecordError, SegmentError
from hourbell.cold.objects import ColdObjects, StoredObject
from hourbell.cold.record import ColdJob, decode_record, encode_record, record_id
from hourbell.cold.segment import BlockError, blocks_after, read_block
from hourbell.domain.cold import hour_start, last_hot_hour
from hourbell.domain.errors import HourbellError
from hourbell.domain.occurrence import window_offset_ms
from hourbell.services.cold_lease import ColdLease, ColdLeaseHeldError
from hourbell.store import cold_segments, promotion
from hourbell.store.connection import Connection, Database
from hourbell.store.promotion import UnpromotedSegment

logger = logging.getLogger(__name__)

# Jobs of one transaction, and the text it sends to Postgres.
CHUNK = 10_000
CHUNK_BYTES = 8 * 1024 * 1024
# An hour that begins so soon should have been promoted an hour ago.
LATE = timedelta(hours=1)
# What a record can do that must not stop the others: it is of another version, or the job table refuses it.
UNACCEPTABLE = (RecordError, psycopg.DataError, psycopg.IntegrityError)
# After so many refusals S3 is taken to be away; the next tick tries again.
REFUSALS = 3


@dataclass(slots=True, kw_only=True)
class Promoted:
    """What one promotion did.

    ``broken``: keys of segments that cannot be read; ``unread``: segments that S3 did not answer for; ``late``: hours
    that should have been promoted long ago; ``drained``: nothing is left to be promoted now.
    """

    jobs: int = 0
    hours: int = 0
    late: int = 0
    unread: int = 0
    broken: list[str] = field(default_factory=list)
    held_elsewhere: bool = False
    drained: bool = True


def promote_jobs(
    database: Database,
    objects: ColdObjects,
    *,
    owner: str,
    zone_data: str,
    time_left: Callable[[], bool],
    now: datetime | None = None,
    chunk: int = CHUNK,
) -> Promoted:
    """Promote what there is, or as much as there is time for; the next call goes on there. A second one exits quietly.

    ``zone_data``: the version of the present time-zone data; occurrences computed with another are computed again.
    """
    lease = ColdLease(database=database, work="promote", owner=owner, now=now)
    try:
        hours, at = lease.run(
            lambda connection, at: (promotion.begin_promotion(connection, last_hour=last_hot_hour(at)), at)
        )
    except ColdLeaseHeldError:
        return Promoted(held_elsewhere=True)
    loader = _Loader(lease, objects, time_left, zone_data, chunk)
    with lease.released():
        try:
            left = [hour for hour in hours if not loader.promote_hour(hour)]
        except ColdLeaseHeldError:
            logger.warning("lost the lease", extra={"action": "promote"})
            left = hours
    loader.total.late = sum(hour_start(hour) <= at + LATE for hour in left)
    loader.total.drained = not left
    return loader.total


class _Loader:
    def __init__(
        self, lease: ColdLease, objects: ColdObjects, time_left: Callable[[], bool], zone_data: str, chunk: int
    ) -> None:
        self._lease = lease
        self._objects = objects
        self._time_left = time_left
        self._zone_data = zone_data
        self._chunk = chunk
        self.total = Promoted()

    def promote_hour(self, due_hour: int) -> bool:
        """Whether nothing of it is left."""
        try:
            self._promote_intake(due_hour)
        except UNACCEPTABLE as error:
            self._broken(f"intake of hour {due_hour}", str(error))
        segments = self._lease.database.run(partial(promotion.list_unpromoted_segments, due_hour=due_hour))
        for segment in segments:
            if not self._time_left() or self.total.unread >= REFUSALS:
                return False
            self._promote_segment(due_hour, segment)
        finished = self._lease.run(partial(_finish, due_hour))
        self.total.hours += finished
        return finished

    def _promote_intake(self, due_hour: int) -> None:
        while self._time_left():
            taken, jobs = self._lease.run(partial(_promote_intake, self._zone_data, due_hour, self._chunk))
            self.total.jobs += jobs
            if not taken:
                return

    def _promote_segment(self, due_hour: int, segment: UnpromotedSegment) -> None:
        self._lease.keep()  # S3 may take its time
        try:
            body = self._objects.get(StoredObject(*segment.place))
            for lines in _chunks(_lines(segment, body), self._chunk):
                records = [self._present(line) for line in lines]
                through = record_id(lines[-1])
                step = partial(_promote_chunk, due_hour, segment.segment_id, records, through)
                self.total.jobs += self._lease.run(step)
                if not self._time_left():
                    return
        except ColdUnavailableError as error:
            self.total.unread += 1
            logger.warning("segment not read", extra={"action": "promote", "error": str(error)})
        except SegmentError as error:
            self._mark(segment, error.detail)
        except (BlockError, *UNACCEPTABLE) as error:
            self._mark(segment, str(error))

    def _mark(self, segment: UnpromotedSegment, detail: str) -> None:
        self._broken(segment.place.key, detail)
        self._lease.run(lambda connection, _: promotion.mark_segment(connection, segment.segment_id, error=detail))

    def _broken(self, place: str, detail: str) -> None:
        logger.error("segment broken", extra={"action": "promote", "key": place, "error": detail})
        self.total.broken.append(place)

    def _present(self, line: bytes) -> str:
        return present_record(line.decode(), self._zone_data)


def present_record(record: str, zone_data: str) -> str:
    """The record as the present time-zone data has it."""
    # the last member of a record of this version: looked at ten thousand times a chunk
    if record.endswith(f'"zone_data":"{zone_data}"}}'):
        return record
    return encode_record(replanned(decode_record(record), zone_data))


def replanned(job: ColdJob, zone_data: str) -> ColdJob:
    """The same job where the present time-zone data puts it; what it cannot plan stays, and the claim marks it."""
    from hourbell.domain.schedule import next_after, schedule_from_json

    try:
        found = next_after(schedule_from_json(job.schedule), job.job_id, job.created_at)
    except (HourbellError, ValueError, LookupError):
        return job
    if found is None:
        return job
    offset = timedelta(milliseconds=window_offset_ms(job.job_id, job.window_ms))
    return replace(job, scheduled_for=found.scheduled_for, fire_at=found.scheduled_for + offset, zone_data=zone_data)


def _promote_intake(
    zone_data: str, due_hour: int, limit: int, connection: Connection, _at: datetime
) -> tuple[int, int]:
    cold_segments.lock_open_buckets(connection, [due_hour])
    records = promotion.take_intake(connection, due_hour=due_hour, limit=limit, most_bytes=CHUNK_BYTES)
    if not records:
        return 0, 0
    # in the order of ids, as segments are: what is inserted in order leaves indexes dense
    present = [present_record(one, zone_data) for one in sorted(records)]
    return len(records), promotion.promote_jobs(connection, present)


def _promote_chunk(
    due_hour: int, segment_id: UUID, records: Sequence[str], through: UUID, connection: Connection, _at: datetime
) -> int:
    cold_segments.lock_open_buckets(connection, [due_hour])
    jobs = promotion.promote_jobs(connection, records)
    promotion.advance_segment(connection, segment_id, through=through)
    return jobs


def _finish(due_hour: int, connection: Connection, at: datetime) -> bool:
    cold_segments.lock_open_buckets(connection, [due_hour])
    return promotion.finish_promotion(connection, due_hour=due_hour, now=at)


def _lines(segment: UnpromotedSegment, body: bytes) -> Iterator[bytes]:
    """The lines that are not in the hot tier yet."""
    done = segment.promoted_through
    for one in blocks_after(segment.place.blocks, len(body), done):
        for line in read_block(body[one.first : one.last + 1]):
            if done is None or record_id(line) > done:
                yield line


def _chunks(lines: Iterator[bytes], limit: int) -> Iterator[list[bytes]]:
    chunk: list[bytes] = []
    size = 0
    for line in lines:
        if chunk and (len(chunk) == limit or size + len(line) > CHUNK_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(line)
        size += len(line)
    if chunk:
        yield chunk
