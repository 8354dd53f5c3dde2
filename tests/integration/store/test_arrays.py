"""Arrays say what was put into them, whatever it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hourbell.domain.limits import MAX_INSTANT
from hourbell.store.arrays import instant_array, integer_array, text_array, uuid_array

TEXTS = [
    "",
    "NULL",
    "null",
    None,
    "a,b",
    "{}",
    '"',
    "\\",
    '\\"',
    " led by a space ",
    "line\nbreak",
    "ü€🔔",
    '{"a":"\\u0022\\\\"}',
    "ü€🔔",
]
INSTANTS = [
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(1999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    None,
    datetime(2027, 3, 14, 2, 30, 0, 123_000, tzinfo=timezone(timedelta(hours=5, minutes=45))),
    MAX_INSTANT,
    datetime(1970, 1, 1, tzinfo=UTC),
]
UUIDS = [UUID(int=0), UUID(int=(1 << 128) - 1), UUID("01970000-0000-8000-8000-0000000000ff")]


@pytest.mark.parametrize(
    ("encode", "cast", "values"),
    [
        (text_array, "text", TEXTS),
        (instant_array, "timestamptz", INSTANTS),
        (uuid_array, "uuid", UUIDS),
        (integer_array, "integer", [0, -1, None, 2**31 - 1]),
        (integer_array, "bigint", [2**63 - 1, None]),
    ],
)
def test_what_went_in_comes_back(
    conninfo: str, encode: Callable[[Sequence[Any]], bytes | str], cast: str, values: list[Any]
):
    for some in (values, values[:1], []):
        with psycopg.connect(conninfo) as connection:
            row = connection.execute(f"select %s::{cast}[]", (encode(some),)).fetchone()

        assert row == (some,)


def test_an_array_of_another_type_than_the_statement_says_is_refused(conninfo: str):
    with psycopg.connect(conninfo) as connection, pytest.raises(psycopg.DatabaseError, match="element type 2950"):
        connection.execute("select %s::text[]", (uuid_array(UUIDS),))
