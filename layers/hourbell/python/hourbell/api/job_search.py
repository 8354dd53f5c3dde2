"""What a user searches for, as PostgreSQL matches it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_lowercase, ascii_uppercase

from hourbell.api.strict_json import bad

MAX_QUERY_LENGTH = 200
MAX_TAG_LENGTH = 400
# As the database's job_terms splits and lowers: whatever is not ASCII belongs to a word, and stays as it is. Written as
# what is no word: a set of a million characters costs a cold start two milliseconds.
_WORD = re.compile(r"[^\x00-/:-@\[-`{-\x7f]+")
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


def like_prefix(prefix: str) -> str:
    """A LIKE pattern for what begins so."""
    _bounded("name_prefix", prefix, MAX_QUERY_LENGTH)
    return re.sub(r"([\\%_])", r"\\\1", prefix) + "%"


def search_terms(text: str | None, tags: Sequence[str]) -> tuple[str, ...]:
    """Operands of a tsquery for jobs with all these tags in which each word of ``text`` begins a word.

    Raises:
        FieldErrors: a tag without a colon, two values of one tag, a text without words.
    """
    terms = [_quoted(f":{tag}") for tag in _checked(tags)]
    if text is not None:
        _bounded("q", text, MAX_QUERY_LENGTH)
        words = _words(text)
        if not words:
            raise bad("q", "holds no letter and no digit")
        terms += [f"{_quoted(word)}:*" for word in words]
    return tuple(terms)


def has_words(text: str, found_in: str) -> bool:
    """Whether each word of ``text`` begins a word there, as the database would have it."""
    words = _words(found_in)
    return all(any(word.startswith(begin) for word in words) for begin in _words(text))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.translate(_LOWER))


def _checked(tags: Sequence[str]) -> list[str]:
    values: dict[str, str] = {}
    for tag in tags:
        _bounded("tag", tag, MAX_TAG_LENGTH)
        name, colon, value = tag.partition(":")
        if not colon:
            raise bad("tag", "must be name:value")
        if values.setdefault(name, value) != value:
            raise bad("tag", "asks for two values of one tag")
    return sorted(set(tags))


def _bounded(field: str, text: str, limit: int) -> None:
    if len(text) > limit:
        raise bad(field, f"has more than {limit} characters")


def _quoted(lexeme: str) -> str:
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"
