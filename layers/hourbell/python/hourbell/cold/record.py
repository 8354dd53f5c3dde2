"""A cold job as one line of JSON: what the intake holds, and what a segment keeps to the letter.

    {"v":1,"job_id":"0192…","tenant_id":"…","target_id":"…", …}

The id stands at a fixed place in front, so that lines sort as ids do and an id is read without parsing. Texts that the
``job`` row keeps as text (schedule, payload, policies, tags) are strings here too: nothing is spelled anew on the way
through the tiers. Readers take every version they know and refuse the others; a new member is a new version only when
old readers must not pass over it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from hourbell.cold.errors import RecordError
from hourbell.domain.instants import format_instant

VERSION = 1

_HEAD = f'{{"v":{VERSION},"job_id":"'
_ID = slice(len(_HEAD), len(_HEAD) + 36)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdJob:
    """An active one-off with its next occurrence: the whole definition, as the ``job`` row would have it.

    ``fire_at``: ``scheduled_for`` and its place in the window. ``zone_data``: the version of the time-zone data that
    ``scheduled_for`` was computed with.
    """

    job_id: UUID
    tenant_id: UUID
    target_id: UUID
    name: str | None
    schedule: str
    payload: str
    window_ms: int
    catch_up: str
    overlap: str
    retry: str
    timeout_ms: int
    tags: str
    version: int
    scheduled_for: datetime
    fire_at: datetime
    created_at: datetime
    zone_data: str


_FIELDS = tuple(field.name for field in fields(ColdJob))
_IDS = ("job_id", "tenant_id", "target_id")
_INSTANTS = ("scheduled_for", "fire_at", "created_at")


def encode_record(job: ColdJob) -> str:
    """The line of a job, without its end."""
    record: dict[str, Any] = {"v": VERSION, **{name: getattr(job, name) for name in _FIELDS}}
    for name in _IDS:
        record[name] = str(record[name])
    for name in _INSTANTS:
        record[name] = format_instant(record[name])
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def decode_record(line: str | bytes) -> ColdJob:
    """The job of a line.

    Raises:
        RecordError: it is not a record of a version that is known here.
    """
    try:
        record = json.loads(line)
        if record["v"] != VERSION:
            raise RecordError(f"record of version {record['v']!r}: this release reads {VERSION}")
        values = {name: record[name] for name in _FIELDS}
        for name in _IDS:
            values[name] = UUID(values[name])
        for name in _INSTANTS:
            values[name] = datetime.fromisoformat(values[name])
    except (ValueError, KeyError, TypeError) as error:
        raise RecordError(f"not a record: {error!r}") from error
    return ColdJob(**values)


def record_id(line: bytes) -> UUID:
    """The job id of an encoded line, without parsing the rest.

    Raises:
        RecordError: the line does not open as a record does.
    """
    if not line.startswith(_HEAD.encode()):
        raise RecordError(f"not a record: {line[:40]!r}")
    try:
        return UUID(line[_ID].decode("ascii"))
    except ValueError as error:
        raise RecordError(f"not a record: {line[:60]!r}") from error
