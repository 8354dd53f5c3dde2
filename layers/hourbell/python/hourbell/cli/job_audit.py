"""``hourbell jobs show --audit``: who changed a job, and member by member what is not as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any

from rich.padding import Padding
from rich.text import Text

from hourbell.cli.merge_patch import same
from hourbell.cli.output import console, print_json
from hourbell.client import Change, Page

_NOTHING = "-"
# How the API ends a value of which it kept the beginning alone.
_CUT = "…"


def print_audit(page: Page[Change], *, as_json: bool) -> None:
    """Change by change, latest first; long lines go on in the next, and nothing is cut."""
    if as_json:
        return print_json(page)
    if not page["items"]:
        _print("No changes on record.", style="dim")
    for change in page["items"]:
        by = f"by {change['key']}" if change["key"] else "not through the API"
        _print(f"{change['recorded_at']}  {change['action']}  {by}", style="bold")
        for field in change["changes"]:
            for line in differences(field["field"], field["old"], field["new"]):
                _print(line, indented=2)
        if change["request_id"]:
            _print(f"request {change['request_id']}", style="dim", indented=2)
    return None


def differences(field: str, old: str | None, new: str | None) -> Iterator[str]:
    """What differs, a member a line: ``schedule.every: PT10S → PT30S``."""
    before, after = _members(old), _members(new)
    if before is not None and after is not None and (before or after):
        return _differing(field, before, after)
    return iter([f"{_printable(field)}: {_pair(old, new)}"])


def _members(text: str | None) -> Mapping[str, Any] | None:
    """The members of a value, none of no value; None of a text, a number, or what was cut."""
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _differing(path: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for name in {**before, **after}:
        old, new = before.get(name), after.get(name)
        if name in before and name in after and same(old, new):
            continue
        member = f"{path}.{name}"
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _differing(member, old, new)
        else:
            texts = [_shown(side[name]) if name in side else _NOTHING for side in (before, after)]
            yield f"{_printable(member)}: {' → '.join(texts)}"


def _pair(old: str | None, new: str | None) -> str:
    """Two values that are no structures, or of which one was cut: then without what both begin with."""
    if old is None or new is None or not (old.endswith(_CUT) or new.endswith(_CUT)):
        return " → ".join(_NOTHING if value is None else _printable(value) for value in (old, new))
    if old == new:
        return f"changed, beyond the {len(old) - 1} letters that are kept of it"
    alike = sum(1 for _ in takewhile(lambda letters: letters[0] == letters[1], zip(old, new, strict=False)))
    start = _CUT if alike else ""
    return " → ".join(start + _printable(value[alike:]) for value in (old, new))


def _shown(value: Any) -> str:
    """A text as it is, unless it looks like something else that JSON has."""
    if isinstance(value, str) and value not in ("", _NOTHING) and not _is_json(value):
        return _printable(value)
    return _printable(json.dumps(value, ensure_ascii=False))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _printable(text: str) -> str:
    return text if text.isprintable() else json.dumps(text)


def _print(text: str, *, style: str = "", indented: int = 0) -> None:
    terminal = console()
    if not terminal.is_terminal:
        return terminal.print(" " * indented + text, markup=False, soft_wrap=True)
    return terminal.print(Padding(Text(text, style=style, overflow="fold"), (0, 0, 0, indented), expand=False))
