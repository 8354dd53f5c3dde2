"""The freezer: intake becomes segments, small segments become larger ones, and what is over is removed.

    intake rows ──▶ segment in memory ──▶ PUT, verified ──▶ one transaction: catalogue + intake rows deleted
     (no locks)                              │                     │
                                             └─ a crash here leaves an object that is in no catalogue: no effect

1. Under the lease, find the hours whose intake is worth a segment (``cold.policy``). Read their rows without locks.
2. Store the segments, several at once; S3 confirms length and SHA-256.
3. One transaction, again under the lease, with the buckets to itself: of the hours that are still open, enter the
   segments and delete the rows they hold. A row that is gone by then was taken out, and has a tombstone that counts for
   the segment's copy as well; a row that came meanwhile is not touched.
4. Merge segments the same way: new object, one transaction that makes it live and the old ones retired. Their objects
   are deleted a day later, when no reader can be at them any more.
5. A day after an hour is over: delete its objects, then forget the hour and its tombstones.

What S3 refuses stays where it was and is tried at the next tick. S3 may be slow: the lease is renewed before each
operation that waits for it, no transaction is open meanwhile, and one who lost the lease all the same writes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from heapq import merge
from itertools import groupby
from uuid import UUID

from hourbell.cold.errors import ColdUnavailableError, SegmentError
from hourbell.cold.objects import ColdObjects, StoredObject
from hourbell.cold.policy import FEW, FREEZE_MARGIN, MERGE, Sized, choose_merges, is_to_freeze
from hourbell.cold.segment import (
    SEGMENT_BYTES,
    SEGMENT_RECORDS,
    WrittenSegment,
    blocks_after,
    read_block,
    write_segment,
)
from hourbell.domain.cold import last_hot_hour
from hourbell.domain.ids import due_hour_of, job_created_at, new_id
from hourbell.services.cold_lease import ColdLease, ColdLeaseHeldError
from hourbell.store import cold_segments
from hourbell.store.cold_segments import CatalogueEntry, LiveSegment
from hourbell.store.connection import Connection, Database
from hourbell.store.promotion import mark_segment

logger = logging.getLogger(__name__)

# Objects on their way to S3 at once; together they are no larger than one full segment.
PUTS_AT_ONCE = 16
PAGE, PAGE_BYTES = 5_000, 8 * 1024 * 1024
REMOVE_AT_ONCE = 500
# After so many refusals S3 is taken to be away; the next tick tries again.
REFUSALS = PUTS_AT_ONCE
# How long what is over stays, for readers that are still at it and for whoever looks into an accident.
GRACE = timedelta(days=1)


@dataclass(slots=True, kw_only=True)
class Frozen:
    """What one freezing did.

    ``unstored``: objects that S3 did not take; ``unread``: those to be merged that it did not answer for; ``broken``:
    keys that cannot be read.
    """

    jobs: int = 0
    segments: int = 0
    merged: int = 0
    removed: int = 0
    unstored: int = 0
    unread: int = 0
    broken: list[str] = field(default_factory=list)
    held_elsewhere: bool = False
    drained: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """A segment in memory; ``replaces``: the segments it is made of, none when its jobs come from the intake."""

    segment_id: UUID
    due_hour: int
    job_ids: Sequence[UUID]
    text_bytes: int
    written: WrittenSegment
    replaces: Sequence[UUID] = ()

    def entry(self, version: str | None) -> CatalogueEntry:
        """Its line in the catalogue."""
        written = self.written
        return CatalogueEntry(
            segment_id=self.segment_id,
            object_key=written.key,
            object_version=version,
            due_hour=self.due_hour,
            first_id=written.first_id,
            last_id=written.last_id,
            jobs=written.jobs,
            size=len(written.body),
            text_bytes=self.text_bytes,
            sha256=written.sha256,
            blocks=written.blocks,
        )


def freeze_jobs(
    database: Database,
    objects: ColdObjects,
    *,
    owner: str,
    time_left: Callable[[], bool],
    now: datetime | None = None,
) -> Frozen:
    """Freeze, merge and remove what there is, or as much as there is time for. A second one exits quietly."""
    lease = ColdLease(database=database, work="freeze", owner=owner, now=now)
    freezer = _Freezer(lease, objects, time_left)
    try:
        at = lease.run(lambda _, at: at)
    except ColdLeaseHeldError:
        return Frozen(held_elsewhere=True)
    with lease.released():
        try:
            freezer.work(at)
        except ColdLeaseHeldError:
            logger.warning("lost the lease", extra={"action": "freeze"})
            freezer.total.drained = False
    return freezer.total


class _Freezer:
    def __init__(self, lease: ColdLease, objects: ColdObjects, time_left: Callable[[], bool]) -> None:
        self._lease = lease
        self._objects = objects
        self._time_left = time_left
        self.total = Frozen()

    def work(self, at: datetime) -> None:
        after_hour = last_hot_hour(at + FREEZE_MARGIN)
        self._store(self._from_intake(after_hour, at))
        self._store(self._from_segments(after_hour, at))
        self._remove(at)

    def _store(self, drafts: Iterator[_Draft]) -> None:
        """Store drafts, a group at a time: all its objects, then one transaction."""
        for group in _groups(drafts):
            self._lease.keep()
            versions = self._put_all(group)
            stored = [(draft, version[0]) for draft, version in zip(group, versions, strict=True) if version]
            self.total.unstored += len(group) - len(stored)
            if stored:
                self._enter(stored)
            if not self._may_go_on():
                return

    def _may_go_on(self) -> bool:
        """Whether there is time left, and an S3 to use it with."""
        goes_on = self._time_left() and self.total.unstored + self.total.unread < REFUSALS
        self.total.drained &= goes_on
        return goes_on

    def _put_all(self, group: Sequence[_Draft]) -> list[tuple[str | None] | None]:
        self._objects.client()  # built once, before the threads want it
        with ThreadPoolExecutor(len(group)) as pool:
            return list(pool.map(self._put, group))

    def _put(self, draft: _Draft) -> tuple[str | None] | None:
        try:
            return (self._objects.put(draft.written),)
        except (ColdUnavailableError, SegmentError) as error:
            logger.warning("segment not stored", extra={"action": "freeze", "error": str(error)})
            return None

    def _enter(self, stored: Sequence[tuple[_Draft, str | None]]) -> None:
        entered = self._lease.run(partial(_enter_segments, stored))
        self.total.jobs += entered.jobs
        self.total.segments += entered.segments
        self.total.merged += entered.merged

    def _from_intake(self, after_hour: int, at: datetime) -> Iterator[_Draft]:
        found = self._lease.run(
            lambda connection, _: cold_segments.list_intake_buckets(connection, after_hour=after_hour, least=FEW)
        )
        for bucket in found:
            if is_to_freeze(bucket.jobs, job_created_at(bucket.oldest_id), at):
                yield from self._drafts(bucket.due_hour, at)

    def _drafts(self, due_hour: int, at: datetime) -> Iterator[_Draft]:
        rows: list[tuple[UUID, bytes]] = []
        size = 0
        for job_id, record in self._intake(due_hour):
            if rows and (len(rows) == SEGMENT_RECORDS or size + len(record) > SEGMENT_BYTES):
                yield _draft(due_hour, rows, at)
                rows, size = [], 0
            rows.append((job_id, record))
            size += len(record)
        if len(rows) >= FEW:
            yield _draft(due_hour, rows, at)

    def _intake(self, due_hour: int) -> Iterator[tuple[UUID, bytes]]:
        read = partial(cold_segments.read_intake, due_hour=due_hour, limit=PAGE, most_bytes=PAGE_BYTES)
        page = self._lease.database.run(partial(read, after_id=None))
        while page:
            yield from ((job_id, record.encode()) for job_id, record in page)
            page = self._lease.database.run(partial(read, after_id=page[-1][0]))

    def _from_segments(self, after_hour: int, at: datetime) -> Iterator[_Draft]:
        found = self._lease.run(
            lambda connection, _: cold_segments.list_small_segments(connection, after_hour=after_hour, least=MERGE)
        )
        for due_hour, group in groupby(found, key=lambda segment: segment.due_hour):
            segments = {segment.segment_id: segment for segment in group}
            sizes = [(one.segment_id, Sized(one.jobs, one.text_bytes)) for one in segments.values()]
            for chosen in choose_merges(sizes):
                if not self._may_go_on():
                    return
                draft = self._merged(due_hour, [segments[one] for one in chosen], at)
                if draft is not None:
                    yield draft

    def _merged(self, due_hour: int, segments: Sequence[LiveSegment], at: datetime) -> _Draft | None:
        parts: list[list[bytes]] = []
        for segment in segments:
            self._lease.keep()
            try:
                parts.append(read_lines(self._objects, StoredObject(*segment.place)))
            except SegmentError as error:
                self._broken(segment.segment_id, error)
                return None
            except ColdUnavailableError as error:
                self.total.unread += 1
                logger.warning("segment not read", extra={"action": "merge", "error": str(error)})
                return None
            if not self._time_left():
                return None
        lines = [line for line, _ in groupby(merge(*parts))]
        return _Draft(
            segment_id=new_id(at),
            due_hour=due_hour,
            job_ids=(),
            text_bytes=sum(len(line) for line in lines),
            written=write_segment(due_hour, lines),
            replaces=[segment.segment_id for segment in segments],
        )

    def _broken(self, segment_id: UUID, error: SegmentError) -> None:
        logger.error("segment broken", extra={"action": "merge", "key": error.key, "error": error.detail})
        self.total.broken.append(error.key)
        self._lease.run(lambda connection, _: mark_segment(connection, segment_id, error=error.detail))

    def _remove(self, at: datetime) -> None:
        long_ago = at - GRACE
        last_hour = due_hour_of(long_ago) - 1
        find = partial(
            cold_segments.list_removable_segments,
            retired_before=long_ago,
            last_hour=last_hour,
            limit=REMOVE_AT_ONCE,
        )
        while self._time_left() and (found := self._lease.database.run(find)):
            for segment_id, key in found:
                if not self._may_go_on():
                    return
                try:
                    self._objects.delete(key)
                except ColdUnavailableError as error:
                    logger.warning("segment not removed", extra={"action": "remove", "error": str(error)})
                    return
                # one by one: however slow S3 is, what was done is not done again
                self._lease.run(partial(_forget, [segment_id]))
                self.total.removed += 1
        self._lease.run(
            lambda connection, _: cold_segments.delete_buckets(connection, retired_before=long_ago, last_hour=last_hour)
        )


@dataclass(slots=True, kw_only=True)
class _Entered:
    jobs: int = 0
    segments: int = 0
    merged: int = 0


def _enter_segments(stored: Sequence[tuple[_Draft, str | None]], connection: Connection, at: datetime) -> _Entered:
    """Make stored objects count; those whose hour closed meanwhile never will."""
    entered = _Entered()
    still_open = cold_segments.lock_open_buckets(connection, [draft.due_hour for draft, _ in stored])
    for draft, version in stored:
        if draft.due_hour not in still_open:
            continue
        if not cold_segments.insert_segment(connection, draft.entry(version), now=at):
            continue  # the commit that was not heard of
        entered.segments += 1
        if draft.replaces:
            retired = cold_segments.retire_segments(connection, draft.replaces, by=draft.segment_id, now=at)
            if retired != len(draft.replaces):
                raise ColdLeaseHeldError("somebody else has merged these segments")
            entered.merged += retired
        else:
            entered.jobs += cold_segments.take_over_intake(
                connection, draft.job_ids, due_hour=draft.due_hour, segment_id=draft.segment_id
            )
    return entered


def read_lines(objects: ColdObjects, stored: StoredObject) -> list[bytes]:
    """All lines of a segment, verified.

    Raises:
        ColdUnavailableError, SegmentError.
    """
    body = objects.get(stored)
    ranges = blocks_after(stored.blocks, stored.size, None)
    return [line for one in ranges for line in read_block(body[one.first : one.last + 1])]


def _forget(segment_ids: Sequence[UUID], connection: Connection, _at: datetime) -> None:
    cold_segments.delete_segments(connection, segment_ids)


def _draft(due_hour: int, rows: Sequence[tuple[UUID, bytes]], at: datetime) -> _Draft:
    return _Draft(
        segment_id=new_id(at),
        due_hour=due_hour,
        job_ids=[job_id for job_id, _ in rows],
        text_bytes=_text_bytes(rows),
        written=write_segment(due_hour, [record for _, record in rows]),
    )


def _text_bytes(rows: Iterable[tuple[UUID, bytes]]) -> int:
    return sum(len(record) for _, record in rows)


def _groups(drafts: Iterator[_Draft]) -> Iterator[list[_Draft]]:
    """As many as fit into memory together, one at least."""
    group: list[_Draft] = []
    size = 0
    for draft in drafts:
        if group and (len(group) == PUTS_AT_ONCE or size + draft.text_bytes > SEGMENT_BYTES):
            yield group
            group, size = [], 0
        group.append(draft)
        size += draft.text_bytes
    if group:
        yield group
