"""Arrays for the statements that write thousands of rows, in PostgreSQL's binary form.

psycopg adapts each element of a list by itself, and the server reads each from text again; both cost more than the
rows. Here a value that occurs often is written once, and the server copies it. The statement says the type:
``%(job_ids)s::uuid[]``.

Source: array_recv, uuid_recv and timestamptz_recv of PostgreSQL (src/backend/utils/adt).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

_UUID, _TEXT, _TIMESTAMPTZ = 2950, 25, 1184
_NULL = struct.pack("!i", -1)
_EMPTY = struct.Struct("!iiI")
_ONE_DIMENSION = struct.Struct("!iiIii")
_INSTANT = struct.Struct("!iq")
_UUID_BYTES = struct.pack("!i", 16)
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class BinaryArray(bytes):
    """An array as the server receives it."""


class _BinaryArrayDumper(Dumper):
    format = Format.BINARY
    oid = 0  # as the statement casts it

    def dump(self, obj: BinaryArray) -> BinaryArray:
        return obj


psycopg.adapters.register_dumper(BinaryArray, _BinaryArrayDumper)


def uuid_array(values: Iterable[UUID]) -> BinaryArray:
    """For ``::uuid[]``."""
    return _array(_UUID, [_UUID_BYTES + value.int.to_bytes(16) for value in values])


def instant_array(values: Sequence[datetime | None]) -> BinaryArray:
    """For ``::timestamptz[]``; the instants are aware."""
    written = {value: _NULL if value is None else _instant(value) for value in set(values)}
    return _array(_TIMESTAMPTZ, [written[value] for value in values])


def text_array(values: Sequence[str | None]) -> BinaryArray:
    """For ``::text[]``, of any text without NUL."""
    written = {value: _NULL if value is None else _text(value) for value in set(values)}
    return _array(_TEXT, [written[value] for value in values])


def integer_array(values: Iterable[int | None]) -> str:
    """For ``::integer[]`` and ``::bigint[]``, whose binary forms differ: as text."""
    return "{" + ",".join(["NULL" if value is None else str(value) for value in values]) + "}"


def _array(element: int, parts: Sequence[bytes]) -> BinaryArray:
    if not parts:
        return BinaryArray(_EMPTY.pack(0, 0, element))
    return BinaryArray(_ONE_DIMENSION.pack(1, 0, element, len(parts), 1) + b"".join(parts))


def _instant(value: datetime) -> bytes:
    return _INSTANT.pack(8, (value - _EPOCH) // _MICROSECOND)


def _text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack("!i", len(encoded)) + encoded
