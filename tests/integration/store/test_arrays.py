"""Array literals say what was put into them, whatever it is."""

from __future__ import annotations

import psycopg
import pytest
from hourbell.store.arrays import text_array, word_array

HARD = [
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
]


def test_any_text_comes_back_as_it_was(conninfo: str):
    with psycopg.connect(conninfo) as connection:
        row = connection.execute("select %s::text[]", (text_array(HARD),)).fetchone()

    assert row == (HARD,)


def test_what_is_no_word_is_refused():
    with pytest.raises(ValueError, match="not a plain word"):
        word_array(["active", "a,b"])
