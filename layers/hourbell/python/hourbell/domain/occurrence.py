"""One nominal time of a job, and where in its window it fires."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """`scheduled_for` is UTC; `note` tells where a clock change moved it or chose between two passes."""

    scheduled_for: datetime
    note: str | None = None


def window_offset_ms(job_id: UUID, window_ms: int) -> int:
    """Fire in [t, t + window): one job always at the same offset, a fleet evenly spread."""
    if window_ms <= 0:
        return 0
    return int.from_bytes(sha256(b"window" + job_id.bytes).digest()[:8]) % window_ms
