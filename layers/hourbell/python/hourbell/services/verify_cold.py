"""Verifying the cold tier, and putting right what is wrong with it: for operators, beside a system that goes on.

1. Every live segment of the catalogue is read whole: its size and SHA-256, each block, the order of its records, their
   hour, and what its row says of it (first and last id, how many, where blocks begin).
2. Every object that the catalogue does not know is read. A job in it that is nowhere else (not hot, not in the intake,
   not gone, in no live segment of its hour) is ``lost``: the row that named the object is missing. Otherwise the object
   is a ``leftover`` of a crash between PUT and commit, and has no effect. What is younger than ``ON_ITS_WAY`` may be a
   segment that the freezer is just about to enter, and is left alone.

Repairs are worked out from what was found, and carried out one by one, each in a transaction that has its bucket alone:

    missing, damaged ──▶ an older version of the object that is what the row says: stored again as the newest version;
                         where there is none, each block that any version has whole, as a segment of its own
    catalogue        ──▶ the object is whole, and its row is written anew from it
    lost             ──▶ a row is made for the object; jobs that are somewhere else already are not counted twice
    leftover         ──▶ the object is deleted (its versions stay until the lifecycle removes them)

Nothing else is touched, and nothing is repaired by guessing: where no version is whole, the flaw stays, and says where
the jobs are that are lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial
from hashlib import sha256
from itertools import islice
from uuid import UUID

from hourbell.cold.errors import RecordError, SegmentError
from hourbell.cold.objects import ColdObjects, StoredObject
from hourbell.cold.record import decode_record, record_id
from hourbell.cold.segment import BlockError, WrittenSegment, salvage, scan_segment, write_segment
from hourbell.domain.ids import due_hour_of, encode, job_due_hour, new_id
from hourbell.services.freeze_jobs import GRACE, read_lines
from hourbell.store import cold_catalogue, cold_segments
from hourbell.store.cold_catalogue import CataloguedSegment, SegmentFacts
from hourbell.store.cold_segments import CatalogueEntry
from hourbell.store.connection import Connection, Database
from hourbell.store.promotion import list_unpromoted_segments

SEGMENTS_AT_ONCE = 100
# Longer than any freezer lives.
ON_ITS_WAY = timedelta(hours=1)
KEYS_AT_ONCE = 1_000

_KEY_HOUR = re.compile(r"cold/(\d{4}-\d{2}-\d{2})/(\d{2})/")

# Told how many of how many segments were looked at.
Progress = Callable[[int, int], None]


class Flaw(StrEnum):
    """What can be wrong."""

    MISSING = "missing"
    DAMAGED = "damaged"
    CATALOGUE = "catalogue"
    LOST = "lost"
    LEFTOVER = "leftover"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFlaw:
    """One flaw. ``jobs``: how many it concerns; ``segment``: the row, None for an object that has none."""

    kind: Flaw
    key: str
    detail: str
    jobs: int
    segment: CataloguedSegment | None = None

    @property
    def harms(self) -> bool:
        """Whether a job may not ring because of it."""
        return self.kind not in (Flaw.LEFTOVER, Flaw.FOREIGN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What is to be done about a flaw. ``act`` does it; None: nothing can be. ``heals``: the flaw is gone then."""

    flaw: FoundFlaw
    action: str
    act: Callable[[], None] | None
    heals: bool = True


def verify_cold(
    database: Database, objects: ColdObjects, *, now: datetime, progress: Progress = lambda _done, _all: None
) -> Iterator[FoundFlaw]:
    """Every flaw, as it is found. Reads all of the cold tier.

    Raises:
        ColdUnavailableError: S3 does not answer.
    """
    yield from _verify_catalogue(database, objects, progress)
    yield from _verify_objects(database, objects, now)


def plan_repairs(
    database: Database, objects: ColdObjects, *, now: datetime, progress: Progress = lambda _done, _all: None
) -> Iterator[Repair]:
    """What would be done about each flaw; the caller carries it out, or only shows it.

    Raises:
        ColdUnavailableError: S3 does not answer.
    """
    for flaw in verify_cold(database, objects, now=now, progress=progress):
        yield _plan(database, objects, flaw, now)


# --- verify ---


def _verify_catalogue(database: Database, objects: ColdObjects, progress: Progress) -> Iterator[FoundFlaw]:
    total, done = database.run(cold_catalogue.count_live_segments), 0
    after = (0, cold_catalogue.BEFORE_ALL)
    while page := database.run(partial(cold_catalogue.list_live_segments, after=after, limit=SEGMENTS_AT_ONCE)):
        for segment in page:
            flaw = _check_segment(objects, segment)
            if flaw is not None and database.run(partial(_is_live, segment=segment)):
                yield flaw
            done += 1
            progress(done, max(done, total))
        after = (page[-1].due_hour, page[-1].segment_id)


def _check_segment(objects: ColdObjects, segment: CataloguedSegment) -> FoundFlaw | None:
    stored = StoredObject(*segment.place)
    try:
        body = objects.get(stored)
    except SegmentError as error:
        kind = Flaw.MISSING if error.detail == "is missing" else Flaw.DAMAGED
        return _flaw(kind, segment, error.detail)
    if not objects.is_current(stored):
        return _flaw(Flaw.MISSING, segment, "is an old version, which S3 will remove")
    return _check_body(segment, body)


def _check_body(segment: CataloguedSegment, body: bytes) -> FoundFlaw | None:
    """What is wrong with an object whose checksum is right, or with the row that describes it."""
    try:
        found, lines = scan_segment(segment.due_hour, body)
        strangers = sum(job_due_hour(decode_record(line).job_id) != segment.due_hour for line in lines)
    except (BlockError, RecordError) as error:
        return _flaw(Flaw.DAMAGED, segment, str(error))
    if strangers:
        return _flaw(Flaw.DAMAGED, segment, f"{strangers} of its jobs are of another hour")
    told = (segment.first_id, segment.last_id, segment.jobs, segment.place.blocks)
    if told != (found.first_id, found.last_id, found.jobs, found.blocks):
        return _flaw(Flaw.CATALOGUE, segment, "its row does not describe it")
    if segment.content > found.jobs:
        return _flaw(Flaw.CATALOGUE, segment, f"its row counts {segment.content} jobs of {found.jobs}")
    return None


def _is_live(connection: Connection, segment: CataloguedSegment) -> bool:
    """Whether it still is: it may have been merged or promoted while it was read."""
    before = (segment.due_hour, UUID(int=segment.segment_id.int - 1))
    now = cold_catalogue.list_live_segments(connection, after=before, limit=1)
    return bool(now) and now[0] == segment


def _verify_objects(database: Database, objects: ColdObjects, now: datetime) -> Iterator[FoundFlaw]:
    listed = objects.list_keys(older_than=now - ON_ITS_WAY)
    while keys := list(islice(listed, KEYS_AT_ONCE)):
        known = database.run(partial(cold_catalogue.find_known_keys, keys=keys))
        for key in keys:
            if key in known:
                continue
            flaw = _check_unknown(database, objects, key, now)
            if not database.run(partial(cold_catalogue.find_known_keys, keys=[key])):
                yield flaw


def _check_unknown(database: Database, objects: ColdObjects, key: str, now: datetime) -> FoundFlaw:
    due_hour = _hour_of(key)
    if due_hour is None:
        return FoundFlaw(kind=Flaw.FOREIGN, key=key, detail="is named as no segment is", jobs=0)
    if due_hour <= due_hour_of(now - GRACE):
        # What left the tier is forgotten by now: nothing of it may come back.
        return FoundFlaw(kind=Flaw.LEFTOVER, key=key, detail="is in no catalogue, and its hour is over", jobs=0)
    try:
        lines = _scan_object(objects, key, due_hour)[1]
    except (SegmentError, BlockError, RecordError) as error:
        detail = f"is in no catalogue, and cannot be read: {error}"
        return FoundFlaw(kind=Flaw.FOREIGN, key=key, detail=detail, jobs=0)
    lost = _lost(database, objects, due_hour, lines)
    if lost:
        detail = f"is in no catalogue, and {len(lost)} of its {len(lines)} jobs are nowhere else"
        return FoundFlaw(kind=Flaw.LOST, key=key, detail=detail, jobs=len(lost))
    return FoundFlaw(kind=Flaw.LEFTOVER, key=key, detail="is in no catalogue, and nobody needs it", jobs=0)


def _lost(database: Database, objects: ColdObjects, due_hour: int, lines: Sequence[bytes]) -> list[bytes]:
    """The records of an unknown object whose jobs are in no other place."""
    ids = {record_id(line) for line in lines}
    accounted = database.run(lambda c: cold_catalogue.find_accounted_jobs(c, ids))
    left = ids - accounted
    if left:
        left -= _frozen_ids(database, objects, due_hour)
    return [line for line in lines if record_id(line) in left]


def _frozen_ids(database: Database, objects: ColdObjects, due_hour: int) -> set[UUID]:
    """The jobs of an hour's live segments, of those that can be read."""
    found: set[UUID] = set()
    for segment in database.run(lambda c: list_unpromoted_segments(c, due_hour=due_hour)):
        try:
            found.update(record_id(line) for line in read_lines(objects, StoredObject(*segment.place)))
        except (SegmentError, BlockError, RecordError):
            continue  # a flaw of its own
    return found


# --- repair ---


def _plan(database: Database, objects: ColdObjects, flaw: FoundFlaw, now: datetime) -> Repair:
    match flaw.kind:
        case Flaw.MISSING | Flaw.DAMAGED:
            return _plan_restore(database, objects, flaw, now)
        case Flaw.CATALOGUE:
            return _plan_rewrite(database, objects, flaw)
        case Flaw.LOST:
            return Repair(
                flaw=flaw,
                action="enter it into the catalogue",
                act=lambda: _enter(database, objects, flaw.key, now),
            )
        case Flaw.LEFTOVER:
            return Repair(flaw=flaw, action="delete it", act=lambda: objects.delete(flaw.key))
        case Flaw.FOREIGN:
            return Repair(flaw=flaw, action="nothing: look at it, and move it elsewhere", act=None)


def _plan_restore(database: Database, objects: ColdObjects, flaw: FoundFlaw, now: datetime) -> Repair:
    segment, bodies = _row(flaw), []
    for number, body in enumerate(objects.read_versions(flaw.key), start=1):
        if len(body) == segment.place.size and sha256(body).digest() == segment.place.sha256:
            action = f"store version {number} of it again, which is whole"
            return Repair(flaw=flaw, action=action, act=partial(_restore, database, objects, segment, body))
        bodies.append(body)
    return _plan_salvage(database, objects, flaw, bodies, now)


def _plan_salvage(
    database: Database, objects: ColdObjects, flaw: FoundFlaw, bodies: Sequence[bytes], now: datetime
) -> Repair:
    segment = _row(flaw)
    found = salvage(segment.place.blocks, segment.place.size, bodies)
    if not found.lines:
        action = f"nothing: no version is whole; {flaw.jobs} jobs are out of reach"
        return Repair(flaw=flaw, action=action, act=None, heals=False)
    written = write_segment(segment.due_hour, found.lines)
    blocks = ", ".join(encode("job", first) for first in found.lost)
    lost = f"{segment.jobs - written.jobs} jobs are out of reach, in the blocks that begin with {blocks}"
    if database.run(partial(cold_catalogue.find_known_keys, keys=[written.key])):
        return Repair(flaw=flaw, action=f"nothing more: {lost}", act=None, heals=False)
    action = f"store the {written.jobs} jobs that can be read as a segment of their own; {lost}"
    act = partial(_salvage, database, objects, segment, found.lines, now)
    return Repair(flaw=flaw, action=action, act=act, heals=False)


def _plan_rewrite(database: Database, objects: ColdObjects, flaw: FoundFlaw) -> Repair:
    segment = _row(flaw)
    return Repair(
        flaw=flaw,
        action="write its row anew, from the object",
        act=lambda: _restore(database, objects, segment, objects.get(StoredObject(*segment.place))),
    )


def _restore(database: Database, objects: ColdObjects, segment: CataloguedSegment, body: bytes) -> None:
    found, lines = scan_segment(segment.due_hour, body)
    version = objects.put(replace(found, key=segment.place.key))
    facts = SegmentFacts(
        object_version=version,
        first_id=found.first_id,
        last_id=found.last_id,
        jobs=found.jobs,
        size=len(body),
        text_bytes=_text_bytes(lines),
        sha256=found.sha256,
        blocks=found.blocks,
    )

    def rewrite(connection: Connection) -> None:
        cold_catalogue.lock_bucket(connection, segment.due_hour)
        cold_catalogue.rewrite_segment(connection, segment.segment_id, facts)

    database.run(rewrite)


def _salvage(
    database: Database, objects: ColdObjects, segment: CataloguedSegment, lines: Sequence[bytes], now: datetime
) -> None:
    """The damaged segment stays live beside the new one: what it alone has is unreadable, and not unknown."""
    jobs = [(job.job_id, job.tenant_id, job.target_id) for job in map(decode_record, lines)]
    written = write_segment(segment.due_hour, lines)
    entry = _entry(segment.due_hour, written, objects.put(written), lines, now)

    def enter(connection: Connection) -> None:
        cold_catalogue.lock_bucket(connection, segment.due_hour)
        if _is_live(connection, segment) and cold_segments.insert_segment(connection, entry, now=now):
            cold_catalogue.move_content(connection, jobs, from_segment=segment.segment_id, to_segment=entry.segment_id)

    database.run(enter)


def _enter(database: Database, objects: ColdObjects, key: str, now: datetime) -> None:
    due_hour = _hour_of(key)
    if due_hour is None:
        raise ValueError(f"no segment is named {key}")
    found, lines = _scan_object(objects, key, due_hour)
    found = replace(found, key=key)
    version = objects.put(found)
    lost = [decode_record(line) for line in _lost(database, objects, due_hour, lines)]
    entry = _entry(due_hour, found, version, lines, now)

    def enter(connection: Connection) -> None:
        cold_catalogue.lock_bucket(connection, due_hour)
        if cold_segments.insert_segment(connection, entry, now=now):
            content = [(job.tenant_id, job.target_id) for job in lost]
            cold_catalogue.add_content(connection, entry.segment_id, content, due_hour=due_hour)

    database.run(enter)


def _entry(
    due_hour: int, written: WrittenSegment, version: str | None, lines: Sequence[bytes], now: datetime
) -> CatalogueEntry:
    return CatalogueEntry(
        segment_id=new_id(now),
        object_key=written.key,
        object_version=version,
        due_hour=due_hour,
        first_id=written.first_id,
        last_id=written.last_id,
        jobs=written.jobs,
        size=len(written.body),
        text_bytes=_text_bytes(lines),
        sha256=written.sha256,
        blocks=written.blocks,
    )


def _scan_object(objects: ColdObjects, key: str, due_hour: int) -> tuple[WrittenSegment, list[bytes]]:
    body = next(objects.read_versions(key), None)
    if body is None:
        raise SegmentError(key, "is missing")
    return scan_segment(due_hour, body)


def _text_bytes(lines: Sequence[bytes]) -> int:
    return sum(len(line) for line in lines)


def _flaw(kind: Flaw, segment: CataloguedSegment, detail: str) -> FoundFlaw:
    return FoundFlaw(kind=kind, key=segment.place.key, detail=detail, jobs=segment.jobs, segment=segment)


def _row(flaw: FoundFlaw) -> CataloguedSegment:
    if flaw.segment is None:
        raise ValueError(f"{flaw.key} has no row")
    return flaw.segment


def _hour_of(key: str) -> int | None:
    found = _KEY_HOUR.match(key)
    if found is None:
        return None
    try:
        return due_hour_of(datetime.strptime("".join(found.groups()), "%Y-%m-%d%H").replace(tzinfo=UTC))
    except ValueError:
        return None
