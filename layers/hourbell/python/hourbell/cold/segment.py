"""The format of a segment: gzip members, one per block of records, and an index of where each begins.

    ┌─ member ─┬─ member ─┬─ … ─┐      zcat reads the whole; a look-up reads one member by its range.
    │ 256 lines│ 256 lines│     │      Lines are sorted by job id, and end in a newline.
    └──────────┴──────────┴─────┘
    index: for each member its first job id (16 bytes) and its offset (4 bytes, big-endian)

Concatenated members are one gzip file (RFC 1952, section 2.2). Each carries a CRC-32 of its own, so that a range says
by itself whether it is whole; the SHA-256 of the object stands in the catalogue. The same lines always make the same
bytes, and the key holds a part of their hash: writing a segment again writes the same object, never another.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from struct import Struct
from uuid import UUID

from hourbell.cold.errors import RecordError
from hourbell.cold.record import record_id
from hourbell.domain.cold import hour_start
from hourbell.domain.errors import HourbellError
from hourbell.domain.ids import encode

BLOCK_RECORDS = 256
# A segment is held in memory by whoever writes or promotes it.
SEGMENT_RECORDS = 50_000
SEGMENT_BYTES = 48 * 1024 * 1024

_ENTRY = Struct(">16sI")
_GZIP = 16 + zlib.MAX_WBITS
_LEVEL = 6


class BlockError(HourbellError):
    """A range of a segment is not what its index says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSegment:
    """A segment, ready to be stored. ``blocks``: its index, packed."""

    key: str
    body: bytes
    blocks: bytes
    first_id: UUID
    last_id: UUID
    jobs: int
    sha256: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRange:
    """Bytes ``first`` … ``last`` of an object, both included, as HTTP counts them."""

    first: int
    last: int


def write_segment(due_hour: int, lines: Sequence[bytes]) -> WrittenSegment:
    """Make a segment of records that are sorted by id, each once.

    Raises:
        ValueError: they are not, or there is none.
    """
    ids = [record_id(line) for line in lines]
    if not ids or any(one >= other for one, other in pairwise(ids)):
        raise ValueError("a segment's records are sorted by id, each once")
    members, index, offset = [], [], 0
    for start in range(0, len(lines), BLOCK_RECORDS):
        member = _compress(b"".join([line + b"\n" for line in lines[start : start + BLOCK_RECORDS]]))
        index.append(_ENTRY.pack(ids[start].bytes, offset))
        members.append(member)
        offset += len(member)
    body = b"".join(members)
    digest = sha256(body).digest()
    return WrittenSegment(
        key=segment_key(due_hour, ids[0], ids[-1], digest),
        body=body,
        blocks=b"".join(index),
        first_id=ids[0],
        last_id=ids[-1],
        jobs=len(ids),
        sha256=digest,
    )


def segment_key(due_hour: int, first_id: UUID, last_id: UUID, digest: bytes) -> str:
    """``cold/2027-05-09/12/<first id>-<last id>-<hash>.ndjson.gz``."""
    ids = f"{encode('job', first_id)}-{encode('job', last_id)}"
    return f"cold/{hour_start(due_hour):%Y-%m-%d/%H}/{ids}-{digest.hex()[:16]}.ndjson.gz"


def find_block(blocks: bytes, size: int, job_id: UUID) -> BlockRange | None:
    """Where the job would be; None: before the first of a segment of ``size`` bytes."""
    at = _last_before(blocks, job_id)
    return None if at < 0 else _range(blocks, size, at)


def blocks_after(blocks: bytes, size: int, job_id: UUID | None) -> Iterator[BlockRange]:
    """The blocks that may hold jobs after this one, in order; None: all."""
    first = 0 if job_id is None else max(0, _last_before(blocks, job_id))
    return (_range(blocks, size, at) for at in range(first, len(blocks) // _ENTRY.size))


def read_block(member: bytes) -> list[bytes]:
    """The lines of one block.

    Raises:
        BlockError: it is damaged, or more or less than one block.
    """
    reader = zlib.decompressobj(_GZIP)
    try:
        text = reader.decompress(member)
    except zlib.error as error:
        raise BlockError(f"damaged: {error}") from error
    if not reader.eof or reader.unused_data or not text.endswith(b"\n"):
        raise BlockError("not one whole block")
    return text[:-1].split(b"\n")


def scan_segment(due_hour: int, body: bytes) -> tuple[WrittenSegment, list[bytes]]:
    """What an object is, from its bytes alone: its line in the catalogue, and its lines.

    Raises:
        BlockError: it is no segment, or damaged. RecordError: a line is no record.
    """
    index, lines, offset = [], [], 0
    while offset < len(body):
        reader = zlib.decompressobj(_GZIP)
        try:
            text = reader.decompress(body[offset:])
        except zlib.error as error:
            raise BlockError(f"damaged at byte {offset}: {error}") from error
        if not reader.eof or not text.endswith(b"\n"):
            raise BlockError(f"cut short after byte {offset}")
        block = text[:-1].split(b"\n")
        index.append(_ENTRY.pack(record_id(block[0]).bytes, offset))
        lines += block
        offset = len(body) - len(reader.unused_data)
    ids = [record_id(line) for line in lines]
    if not ids or any(one >= other for one, other in pairwise(ids)):
        raise BlockError("its records are not sorted by id, each once")
    digest = sha256(body).digest()
    found = WrittenSegment(
        key=segment_key(due_hour, ids[0], ids[-1], digest),
        body=body,
        blocks=b"".join(index),
        first_id=ids[0],
        last_id=ids[-1],
        jobs=len(ids),
        sha256=digest,
    )
    return found, lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvage:
    """What can be read of a damaged object. ``lost``: the first ids of the blocks that cannot."""

    lines: Sequence[bytes]
    lost: Sequence[UUID]


def salvage(blocks: bytes, size: int, bodies: Sequence[bytes]) -> Salvage:
    """Each block of an index, from the first body that has it whole."""
    lines: list[bytes] = []
    lost: list[UUID] = []
    for at in range(len(blocks) // _ENTRY.size):
        span = _range(blocks, size, at)
        ids = (_first_id(blocks, at), _first_id(blocks, at + 1))
        found = (_whole_block(body[span.first : span.last + 1], *ids) for body in bodies)
        block = next((one for one in found if one), None)
        if block is None:
            lost.append(UUID(bytes=ids[0]))
        else:
            lines += block
    return Salvage(lines=lines, lost=lost)


def _whole_block(member: bytes, first: bytes, after: bytes) -> list[bytes] | None:
    """Its lines, if they are records from this id on, in order, and before the next block's (none: it is the last)."""
    try:
        lines = read_block(member)
        ids = [record_id(line).bytes for line in lines]
    except (BlockError, RecordError):
        return None
    in_order = all(one < other for one, other in pairwise(ids))
    return lines if ids[0] == first and in_order and (not after or ids[-1] < after) else None


def pick_record(lines: Sequence[bytes], job_id: UUID) -> bytes | None:
    """The line of this job among those of a block."""
    return next((line for line in lines if record_id(line) == job_id), None)


def _last_before(blocks: bytes, job_id: UUID) -> int:
    """The last block whose first id is not after this one; -1: none."""
    entries = range(len(blocks) // _ENTRY.size)
    return bisect_right(entries, job_id.bytes, key=lambda at: _first_id(blocks, at)) - 1


def _first_id(blocks: bytes, at: int) -> bytes:
    return blocks[at * _ENTRY.size : at * _ENTRY.size + 16]


def _range(blocks: bytes, size: int, at: int) -> BlockRange:
    offset = _offset(blocks, at)
    end = size if (at + 1) * _ENTRY.size >= len(blocks) else _offset(blocks, at + 1)
    return BlockRange(first=offset, last=end - 1)


def _offset(blocks: bytes, at: int) -> int:
    offset: int = _ENTRY.unpack_from(blocks, at * _ENTRY.size)[1]
    return offset


def _compress(text: bytes) -> bytes:
    writer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    return writer.compress(text) + writer.flush()
