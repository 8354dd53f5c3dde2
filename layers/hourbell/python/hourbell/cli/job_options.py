"""The options that say what a job is, alike for creating and editing one, and the body that they make."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from hourbell.domain.durations import parse_duration
from hourbell.domain.errors import FieldError


def _duration(text: str | None) -> str | None:
    return _checked(text, lambda given: parse_duration(given, field="duration"))


def _cron(text: str | None) -> str | None:
    from hourbell.domain.cron import parse_cron

    return _checked(text, parse_cron)


def _checked(text: str | None, parse: Callable[[str], object]) -> str | None:
    """What was typed, if it can be read: said of the option that is wrong, before any other is missed."""
    if text is not None:
        try:
            parse(text)
        except FieldError as error:
            raise typer.BadParameter(error.detail) from error
    return text


Name = Annotated[str | None, typer.Option(help="Unique among your jobs.")]
Cron = Annotated[str | None, typer.Option(callback=_cron, help="Five fields, or six with seconds first.")]
Every = Annotated[str | None, typer.Option(callback=_duration, help="An interval: 30s, 5m, PT2H.")]
At = Annotated[str | None, typer.Option(help="One time: 2027-05-29T09:00:00Z, or local with --timezone.")]
Timezone = Annotated[str | None, typer.Option(help="An IANA zone: Europe/Paris.")]
Target = Annotated[str | None, typer.Option(help="The name of a target.")]
Url = Annotated[str | None, typer.Option(help="Instead of a target: POST to this URL.")]
Payload = Annotated[str | None, typer.Option(help="JSON, or @file.")]
Window = Annotated[str | None, typer.Option(callback=_duration, help="Spread over this long: 30m.")]
Overlap = Annotated[str | None, typer.Option(help="allow, skip, buffer_one or cancel_running.")]
Timeout = Annotated[str | None, typer.Option(callback=_duration, help="For each attempt: 30s.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="team=payments; may be repeated.")]
File = Annotated[Path | None, typer.Option(help="A body as JSON; - reads standard input. Options go before it.")]

_KINDS = ("cron", "every", "at")
# No name of a tag has either.
_SEPARATOR = re.compile("[=:]")
# What a schedule keeps when it becomes one of another kind.
_SHARED = frozenset({"timezone", "start_at", "end_at", "max_runs", "exclude"})


def job_body(
    *,
    file: Path | None = None,
    schedule: Mapping[str, str | None],
    payload: str | None = None,
    tags: list[str] | None = None,
    target: str | None = None,
    url: str | None = None,
    **members: Any,
) -> dict[str, Any]:
    """The API's body of the options that were given; ``members`` go in as they are named."""
    body: dict[str, Any] = read_json(str(file), "--file") if file else {}
    if not isinstance(body, dict):
        raise typer.BadParameter("not a JSON object", param_hint="--file")
    options = {**members, "target": {"http": {"url": url}} if url else target}
    body.update({field: value for field, value in options.items() if value is not None})
    if any(value is not None for value in schedule.values()):
        body["schedule"] = {field: value for field, value in schedule.items() if value is not None}
    if payload is not None:
        body["payload"] = read_payload(payload)
    if tags:
        body["tags"] = read_tags(tags)
    return body


def read_tags(tags: list[str] | None) -> dict[str, str]:
    """What ``--tag`` was given."""
    return dict(_tag(text) for text in tags or [])


def tag_filters(tags: list[str] | None) -> list[str] | None:
    """What ``--tag`` was given, as the API's lists take it."""
    return None if tags is None else [f"{name}:{value}" for name, value in map(_tag, tags)]


def as_changes(body: Mapping[str, Any], present: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch that this body means for a job: what rules out a new schedule or destination is taken away."""
    changes = dict(body)
    schedule, target = changes.get("schedule"), changes.get("target")
    if isinstance(schedule, dict) and not _is_of_kind(schedule, present["schedule"]):
        kept = _SHARED - {"start_at", "end_at", "max_runs", "exclude"} if "at" in schedule else _SHARED
        changes["schedule"] = {**{name: None for name in present["schedule"] if name not in kept}, **schedule}
    if isinstance(target, dict) and isinstance(present["target"], dict):
        changes["target"] = {**{kind: None for kind in present["target"] if kind not in target}, **target}
    return changes


def _is_of_kind(schedule: Mapping[str, Any], present: Mapping[str, Any]) -> bool:
    named = [kind for kind in _KINDS if schedule.get(kind) is not None]
    return not named or all(kind in present for kind in named)


def read_payload(text: str) -> Any:
    """A payload as ``--payload`` takes it."""
    if text.startswith("@"):
        return read_json(text[1:], "--payload")
    return _parse_json(text, "--payload")


def read_json(path: str, option: str) -> Any:
    """The JSON of a file, or of standard input."""
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"{path}: {error.strerror}", param_hint=option) from error
    return _parse_json(text, option)


def _parse_json(text: str, option: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"not JSON: {error}", param_hint=option) from error


def _tag(text: str) -> tuple[str, str]:
    """As it is given to a job, `team=payments`, or as lists show it in the API, `team:payments`."""
    name, *value = _SEPARATOR.split(text, maxsplit=1)
    if not value or not name:
        raise typer.BadParameter(f"{text!r} is not name=value", param_hint="--tag")
    return name, value[0]
