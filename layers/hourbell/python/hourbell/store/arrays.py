"""Array literals of PostgreSQL, for the statements that write thousands of rows.

psycopg quotes and escapes each element of a list by itself, which costs more than the rows. UUIDs, instants, numbers
and our own enum words need no quoting, so their literals are plain joins. Text of any kind is quoted always.
Source: https://www.postgresql.org/docs/16/arrays.html#ARRAYS-IO
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

_NULL = "NULL"


def uuid_array(values: Iterable[UUID]) -> str:
    """For ``::uuid[]``."""
    return "{" + ",".join([f"{value.int:032x}" for value in values]) + "}"


def instant_array(values: Sequence[datetime | None]) -> str:
    """For ``::timestamptz[]``; the instants are aware. Rows of a claim share few instants, each is written once."""
    written = {value: _NULL if value is None else value.isoformat() for value in set(values)}
    return "{" + ",".join([written[value] for value in values]) + "}"


def integer_array(values: Iterable[int | None]) -> str:
    """For ``::integer[]`` and the like."""
    return "{" + ",".join([_NULL if value is None else str(value) for value in values]) + "}"


def word_array(values: Iterable[str | None]) -> str:
    """For ``::text[]``, of words made of letters and underscores only (states, lanes, reasons).

    Raises:
        ValueError: one of them is not such a word.
    """
    words = [_NULL if value is None else str(value) for value in values]
    for word in set(words):
        if not (word.isascii() and word.replace("_", "").isalpha()):
            raise ValueError(f"not a plain word: {word!r}")
    return "{" + ",".join(words) + "}"


def text_array(values: Iterable[str | None]) -> str:
    """For ``::text[]``, of any text: all of it is quoted, with backslashes and quotes escaped."""
    return "{" + ",".join([_NULL if value is None else _quoted(value) for value in values]) + "}"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
