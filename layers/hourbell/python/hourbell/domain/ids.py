"""Identifiers: the id is the address.

A job id is a UUIDv8 (RFC 9562): 48 bits created-at ms, 4 version, 12 due hour (high), 2 variant, 12 due hour
(low), 8 cell, 42 random. Ids sort by creation; a cold job is found by its due hour (hours since 1970, 0 when
born warm).

A run id is a UUIDv8: 48 bits scheduled-for ms, 4 version, 12 hash, 2 variant, 62 hash, where hash is the
SHA-256 of the job id and the time: anyone can compute it again, and it never changes between deliveries.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from hashlib import sha256
from typing import Literal
from uuid import UUID, SafeUUID

from hourbell.domain.errors import FieldError
from hourbell.domain.instants import epoch_ms, from_epoch_ms
from hourbell.domain.limits import CELLS_MAX, MAX_INSTANT, SHARDS

Prefix = Literal["job", "run", "tgt", "key", "ten"]
Entropy = Callable[[int], bytes]

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base32, as TypeID uses it
_PAIRS = [high + low for high in _ALPHABET for low in _ALPHABET]
_VALUES = {character: value for value, character in enumerate(_ALPHABET)}
_MAX_MS = epoch_ms(MAX_INSTANT)
_VARIANT = 0b10 << 62
_MASK_12, _MASK_62 = (1 << 12) - 1, (1 << 62) - 1


class IdError(FieldError):
    """Not an id of this kind."""


def new_job_id(now: datetime, *, cell: int = 0, due_hour: int = 0, entropy: Entropy = os.urandom) -> UUID:
    """`due_hour` counts hours since 1970 and is given only to a one-off that is born cold."""
    if not 0 <= cell < CELLS_MAX or not 0 <= due_hour < 1 << 24:
        raise ValueError(f"cell {cell} or due hour {due_hour} does not fit into a job id")
    random = int.from_bytes(entropy(6)) & (1 << 42) - 1
    low = (due_hour & _MASK_12) << 50 | cell << 42 | random
    return _uuid(epoch_ms(now), 8, due_hour >> 12, low)


def job_created_at(job_id: UUID) -> datetime:
    """When the job was created, to the millisecond."""
    return from_epoch_ms(job_id.int >> 80)


def job_cell(job_id: UUID) -> int:
    """The Postgres cluster that keeps the job."""
    return job_id.int >> 42 & 0xFF


def job_due_hour(job_id: UUID) -> int:
    """Hours since 1970 of a one-off born cold; 0 when born warm."""
    return (job_id.int >> 64 & _MASK_12) << 12 | job_id.int >> 50 & _MASK_12


def due_hour_of(instant: datetime) -> int:
    """Hours since 1970, as a job id holds them."""
    return epoch_ms(instant) // 3_600_000


def run_id(job_id: UUID, scheduled_for: datetime) -> UUID:
    """The one run of this occurrence: a pure function of both, cut to the millisecond."""
    milliseconds = epoch_ms(scheduled_for)
    digest = int.from_bytes(sha256(job_id.int.to_bytes(16) + milliseconds.to_bytes(8)).digest()[:10])
    return _uuid(milliseconds, 8, digest >> 62 & _MASK_12, digest & _MASK_62)


def run_scheduled_for(run: UUID) -> datetime:
    """Which occurrence, and so which partition, the run belongs to."""
    return from_epoch_ms(run.int >> 80)


def shard_of(job_id: UUID) -> int:
    """0…127, the same on every machine and in every version."""
    return sha256(b"shard" + job_id.bytes).digest()[0] % SHARDS


def new_id(now: datetime, entropy: Entropy = os.urandom) -> UUID:
    """UUIDv7: for targets, keys and tenants."""
    random = int.from_bytes(entropy(10))
    return _uuid(epoch_ms(now), 7, random >> 62 & _MASK_12, random & _MASK_62)


def _uuid(milliseconds: int, version: int, middle: int, low: int) -> UUID:
    # As UUID(int=…), without its checks of arguments that cannot be wrong here: a claim makes thousands.
    made = object.__new__(UUID)
    object.__setattr__(made, "int", milliseconds << 80 | version << 76 | middle << 64 | _VARIANT | low)
    object.__setattr__(made, "is_safe", SafeUUID.unknown)
    return made


def encode(prefix: Prefix, value: UUID) -> str:
    """As shown: "job_" and 26 characters."""
    number = value.int
    return f"{prefix}_" + "".join([_PAIRS[number >> shift & 1_023] for shift in range(120, -1, -10)])


def decode(prefix: Prefix, text: object, *, field: str = "id") -> UUID:
    """The UUID behind a shown id; raises `IdError` for anything that `encode` could not have written."""
    if not isinstance(text, str) or len(text) != 30 or not text.startswith(f"{prefix}_"):
        raise IdError(field, f"must be {prefix}_ and 26 characters")
    number = 0
    for character in text[4:]:
        value = _VALUES.get(character)
        if value is None:
            raise IdError(field, f"must be {prefix}_ and 26 characters of 0-9 and a-z without i, l, o, u")
        number = number << 5 | value
    if not _is_ours(number):
        raise IdError(field, f"is not a {prefix} id")
    return UUID(int=number)


def _is_ours(number: int) -> bool:
    version, variant = number >> 76 & 0xF, number >> 62 & 0b11
    return number < 1 << 128 and number >> 80 <= _MAX_MS and version in (7, 8) and variant == 0b10
