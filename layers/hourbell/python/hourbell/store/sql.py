"""The SQL of the store: one statement per file under ``queries/``, named after the function that runs it."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def query(name: str) -> bytes:
    """The text of ``queries/<name>.sql``, ready for psycopg.

    Bytes, so that no caller can format values into it: values travel as named parameters only.
    """
    return (files(__package__) / "queries" / f"{name}.sql").read_bytes()
