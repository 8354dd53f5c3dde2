"""JSON as RFC 8259 and the database take it: what Python's reader lets through or chokes on is refused here, by path.

Refused: NaN and Infinity, numbers that overflow to infinity, integers of more than 4,300 digits, duplicate keys,
U+0000 and lone surrogates (Postgres text has neither), nesting deeper than ``MAX_DEPTH``.

A payload belongs to its user, so it is kept as the text that came in: ``compact`` takes away white space between tokens
and nothing else. Number spelling, key order and escapes survive. ``merge`` patches such text without reading numbers.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from json.encoder import encode_basestring
from typing import Any

from hourbell.domain.errors import FieldError, FieldErrors

MAX_DEPTH = 100
MAX_INTEGER_DIGITS = 4_300  # where CPython's int() refuses, since 3.11 (CVE-2020-10735)
BODY = "body"

# Strings are matched with possessive quantifiers, closed or not: linear time on any input.
_STRUCTURE = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)
_GAPS = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+"?)|[ \t\r\n]+', re.DOTALL)
_SUSPICIOUS_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


class _Refused:
    """Stands in the parsed value where something was refused, until its path is known."""

    __slots__ = ("detail",)

    def __init__(self, detail: str) -> None:
        self.detail = detail


def bad(field: str, detail: str) -> FieldErrors:
    """One bad field, as the exception that carries it."""
    return FieldErrors([FieldError(field, detail)])


def parse(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        FieldErrors: naming the path of what is refused, or ``body`` where the text is no JSON at all.
    """
    _check_depth(text)
    reader = _Reader()
    try:
        value = reader.decoder.decode(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise bad(BODY, f"not JSON: {error.msg} at {where}") from None
    if reader.refused or _has_bad_text(text):
        for path, detail in _flaws(value):
            raise bad(path, detail)
    return value


def members(text: str) -> dict[str, str]:
    """The members of a JSON object as they are written: name → text of the value.

    ``text`` must have passed ``parse``.
    """
    found: dict[str, str] = {}
    position = _skip(text, 0) + 1
    while text[position := _skip(text, position)] != "}":
        if text[position] == ",":
            position = _skip(text, position + 1)
        name, position = _PLAIN.raw_decode(text, position)
        start = _skip(text, _skip(text, position) + 1)
        _, position = _PLAIN.raw_decode(text, start)
        found[name] = text[start:position]
    return found


def elements(text: str) -> list[str]:
    """The elements of a JSON array as they are written; ``text`` must have passed ``parse``."""
    found: list[str] = []
    position = _skip(text, 0) + 1
    while text[position := _skip(text, position)] != "]":
        if text[position] == ",":
            position = _skip(text, position + 1)
        _, end = _PLAIN.raw_decode(text, position)
        found.append(text[position:end])
        position = end
    return found


def compact(text: str) -> str:
    """The same JSON without white space between its tokens."""
    return _GAPS.sub(lambda match: match[1] or "", text)


def merge(target: str | None, patch: str) -> str:
    """RFC 7396 on JSON texts: members that the patch does not name keep their exact spelling."""
    if _first(patch) != "{":
        return compact(patch)
    merged = members(target) if target is not None and _first(target) == "{" else {}
    for name, value in members(patch).items():
        if value == "null":
            merged.pop(name, None)
        else:
            merged[name] = merge(merged.get(name), value)
    return "{" + ",".join(f"{dump(name)}:{compact(value)}" for name, value in merged.items()) + "}"


def merge_values(target: Any, patch: Any) -> Any:
    """RFC 7396 on parsed values."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_values(merged.get(name), value)
    return merged


def dump(value: Any) -> str:
    """Compact JSON, letters as they are."""
    return encode_basestring(value) if isinstance(value, str) else _COMPACT.encode(value)


def is_clean_text(text: str) -> bool:
    """Whether Postgres can hold the text: no U+0000, no lone surrogate."""
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


# Made once: json.dumps makes one for each value.
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_PLAIN = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)


class _Reader:
    def __init__(self) -> None:
        self.refused = False
        self.decoder = json.JSONDecoder(
            parse_float=self._number,
            parse_int=self._integer,
            parse_constant=self._constant,
            object_pairs_hook=self._object,
        )

    def _refuse(self, detail: str) -> _Refused:
        self.refused = True
        return _Refused(detail)

    def _number(self, text: str) -> float | _Refused:
        value = float(text)
        return value if math.isfinite(value) else self._refuse("a number too large for JSON readers")

    def _integer(self, text: str) -> int | _Refused:
        if len(text) > MAX_INTEGER_DIGITS:
            return self._refuse(f"an integer of more than {MAX_INTEGER_DIGITS} digits")
        return int(text)

    def _constant(self, text: str) -> _Refused:
        return self._refuse(f"{text} is not JSON")

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            seen: set[str] = set()
            for name, _ in pairs:
                if name in seen:
                    value[name] = self._refuse("the same key twice")
                seen.add(name)
        return value


def _check_depth(text: str) -> None:
    depth = 0
    for token in _STRUCTURE.finditer(text):
        letter = text[token.start()]
        if letter in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise bad(BODY, f"nested deeper than {MAX_DEPTH} levels")
        elif letter in "]}":
            depth -= 1


def _has_bad_text(text: str) -> bool:
    if _SUSPICIOUS_ESCAPE.search(text):
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _flaws(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Paths of refused values and texts; the recursion is bounded by ``MAX_DEPTH``."""
    if isinstance(value, _Refused):
        yield path or BODY, value.detail
    elif isinstance(value, str):
        if not is_clean_text(value):
            yield path or BODY, _TEXT_FLAW
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _flaws(item, f"{path}.{index}" if path else str(index))
    elif isinstance(value, dict):
        for name, item in value.items():
            if not is_clean_text(name):
                yield path or BODY, f"a key: {_TEXT_FLAW}"
            yield from _flaws(item, f"{path}.{name}" if path else name)


_TEXT_FLAW = "holds U+0000 or a lone surrogate"


def _skip(text: str, position: int) -> int:
    while text[position] in " \t\r\n":
        position += 1
    return position


def _first(text: str) -> str:
    return text[_skip(text, 0)]
