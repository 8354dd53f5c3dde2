"""Schedules of EventBridge Scheduler as jobs: one description of ``GetSchedule`` in, one job and its target out.

Pure. What differs and stays different is a note of the job; what cannot be said in Hourbell's words is refused with the
reason. Facts about EventBridge Scheduler are from its user guide and API reference, read 2026-11.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from zoneinfo import ZoneInfo

from hourbell.domain.clock import zone
from hourbell.domain.errors import HourbellError
from hourbell.domain.instants import format_instant
from hourbell.domain.limits import MAX_ATTEMPTS_LIMIT
from hourbell.importing.aws_cron import AwsCron, translate
from hourbell.importing.plan import (
    ImportedJob,
    ImportedTarget,
    ImportRefusedError,
    OverError,
    Plan,
    Refused,
    check_schedule,
)

Description = Mapping[str, Any]

ROLES = (
    "execution roles are not used: workers call with their own role, and only what StageSettings.allowed_targets lists"
)
MEMBER = "functions, events and executions get one more member in their JSON: hourbell, with run, attempt and time"

_AT, _RATE, _CRON = re.compile(r"at\((.+)\)"), re.compile(r"rate\(([0-9]+) +([a-z]+)\)"), re.compile(r"cron\((.+)\)")
_UNITS = {"minute": "M", "hour": "H", "day": "D"}
_ARN = re.compile(
    r"arn:(?P<partition>aws[a-z-]*):(?P<service>[a-z0-9-]+):(?P<region>[a-z0-9-]*):(?P<account>[0-9]*):(?P<resource>.+)"
)
_PLACEHOLDER = re.compile(r"<aws\.scheduler\.[a-z-]+>")
# Their payload is a document that Hourbell adds a member to; the others get it to the letter.
_DOCUMENT_KINDS = frozenset({"lambda", "eventbridge", "step_functions"})
_DEFAULT_ATTEMPTS, _DEFAULT_AGE_SECONDS = 185, 86_400
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mapped:
    job: ImportedJob
    target: ImportedTarget


def map_schedules(schedules: Iterable[Description], *, known: Sequence[ImportedTarget] = (), now: datetime) -> Plan:
    """Map what ``GetSchedule`` answers for each. ``known``: targets that there are already, to be used again."""
    jobs: list[ImportedJob] = []
    refused: list[Refused] = []
    over: list[Refused] = []
    targets = _Targets(known)
    for description in schedules:
        # Neither may hold a colon; and a slash, even an escaped one, would not get through every gateway.
        source = f"{description.get('GroupName', 'default')}:{description['Name']}"
        try:
            mapped = _map(source, description, now=now)
        except OverError as error:
            over.append(Refused(source=source, text=description["ScheduleExpression"], reason=str(error)))
        except ImportRefusedError as error:
            refused.append(Refused(source=source, text=description["ScheduleExpression"], reason=str(error)))
        else:
            name = targets.name_of(mapped.target)
            jobs.append(replace(mapped.job, definition={**mapped.job.definition, "target": name}))
    return Plan(
        jobs=tuple(jobs),
        refused=tuple(refused),
        over=tuple(over),
        targets=tuple(targets.new),
        notes=_general_notes(jobs, targets),
    )


class _Targets:
    """Gives each destination one name: that of a target which is there already, or a free one."""

    def __init__(self, known: Sequence[ImportedTarget]) -> None:
        self._taken = {target.name for target in known}
        self._names = {_key(target): target.name for target in known}
        self.new: list[ImportedTarget] = []
        self.kinds: set[str] = set()

    def name_of(self, target: ImportedTarget) -> str:
        key = _key(target)
        self.kinds.add(target.kind)
        if key not in self._names:
            free = target.name if target.name not in self._taken else f"{target.name}-{_digest(key)}"
            self._names[key] = free
            self._taken.add(free)
            self.new.append(replace(target, name=free))
        return self._names[key]


def _general_notes(jobs: Sequence[ImportedJob], targets: _Targets) -> tuple[str, ...]:
    if not jobs:
        return ()
    return (ROLES, MEMBER) if _DOCUMENT_KINDS.intersection(targets.kinds) else (ROLES,)


def _key(target: ImportedTarget) -> str:
    given = {name: value for name, value in target.config.items() if value is not None}
    return json.dumps([target.kind, given], sort_keys=True)


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:6]


def _map(source: str, description: Description, *, now: datetime) -> _Mapped:
    notes: list[str] = []
    schedule = _schedule(description, notes)
    _check(schedule, now)
    target = description["Target"]
    destination = _target(target)
    definition: dict[str, Any] = {
        "name": source,
        "schedule": schedule,
        "payload": _payload(target.get("Input"), destination.kind, notes),
        "retry": _retry(target.get("RetryPolicy") or {}),
        "tags": {"imported-from": "eventbridge", "group": description.get("GroupName", "default")},
    }
    window = description.get("FlexibleTimeWindow") or {}
    if window.get("Mode") == "FLEXIBLE":
        definition["window"] = f"PT{window['MaximumWindowInMinutes']}M"
    if description.get("State") == "DISABLED":
        definition["paused"] = True
    if "DeadLetterConfig" in target:
        queue = target["DeadLetterConfig"].get("Arn", "")
        notes.append(
            f"the dead-letter queue {queue} gets nothing more: dead runs stay with their error, to be redriven"
        )
    if "KmsKeyArn" in description:
        notes.append(f"the key {description['KmsKeyArn']} is not used: the stage's own key encrypts")
    return _Mapped(job=ImportedJob(source=source, definition=definition, notes=tuple(notes)), target=destination)


def _check(schedule: Mapping[str, Any], now: datetime) -> None:
    if "end_at" in schedule and datetime.fromisoformat(schedule["end_at"]) <= now:
        raise OverError(f"it ended at {schedule['end_at']}")
    try:
        check_schedule(schedule, now=now)
    except ImportRefusedError as error:
        if "lies in the past" in str(error):
            raise OverError("it has run") from error
        raise


# --- when ---


def _schedule(description: Description, notes: list[str]) -> dict[str, Any]:
    expression, timezone = description["ScheduleExpression"].strip(), description.get("ScheduleExpressionTimezone")
    place = _zone(timezone or "UTC")
    if match := _AT.fullmatch(expression):
        return {"at": match[1], "timezone": place, "gap": "skip", "repeat": "once"}
    bounds = {name: _instant(description.get(key)) for name, key in (("start_at", "StartDate"), ("end_at", "EndDate"))}
    if match := _RATE.fullmatch(expression):
        return {"every": _every(match), "anchor": _anchor(description), **_given(bounds)}
    if match := _CRON.fullmatch(expression):
        cron = translate(match[1])
        if cron.has_interval and _changes_clocks(place):
            notes.append("it also runs in the hour that the clock repeats in autumn, which EventBridge leaves out")
        return {"cron": cron.cron, "timezone": place, "gap": "skip", "repeat": "once", **_within(cron, place, bounds)}
    raise ImportRefusedError(f"{expression} is neither at(…), rate(…) nor cron(…)")


def _zone(name: str) -> str:
    try:
        return zone(name).name
    except HourbellError as error:
        raise ImportRefusedError(str(error)) from error


def _every(match: re.Match[str]) -> str:
    number, unit = int(match[1]), _UNITS.get(match[2].removesuffix("s"))
    if unit is None or number == 0:
        raise ImportRefusedError(f"{match[0]} is no rate")
    return f"P{number}D" if unit == "D" else f"PT{number}{unit}"


def _anchor(description: Description) -> str | None:
    """A rate counts from its start, or from its creation."""
    return _instant(description.get("StartDate") or description.get("CreationDate"))


def _within(cron: AwsCron, place: str, bounds: Mapping[str, str | None]) -> dict[str, str]:
    """The bounds and the years, whichever is narrower."""
    start = None if cron.first_year is None else _new_year(cron.first_year, place)
    end = None if cron.last_year is None else _new_year(cron.last_year + 1, place) - _MILLISECOND
    starts = [text for text in (bounds["start_at"], _instant(start)) if text]
    ends = [text for text in (bounds["end_at"], _instant(end)) if text]
    found = {"start_at": max(starts, default=None), "end_at": min(ends, default=None)}
    if starts and ends and max(starts) > min(ends):
        raise OverError("its years and its start and end dates have no time in common")
    return _given(found)


def _new_year(year: int, place: str) -> datetime:
    return datetime(year, 1, 1, tzinfo=ZoneInfo(place)).astimezone(UTC)


def _instant(value: datetime | None) -> str | None:
    return None if value is None else format_instant(value.astimezone(UTC))


def _given(members: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in members.items() if value is not None}


def _changes_clocks(place: str) -> bool:
    """Whether the zone has summer time now and then; a year of this century tells."""
    days = (datetime(2026, month, 1, tzinfo=ZoneInfo(place)) for month in range(1, 13))
    return len({day.utcoffset() for day in days}) > 1


# --- where ---


def _target(target: Description) -> ImportedTarget:
    match = _ARN.fullmatch(target["Arn"])
    if match is None:
        raise ImportRefusedError(f"{target['Arn']} is no ARN")
    service, resource = match["service"], match["resource"]
    if service == "scheduler" and resource.startswith("aws-sdk:"):
        action = resource.removeprefix("aws-sdk:")
        raise ImportRefusedError(f"universal target {action}: let a function make the call, and name it as the target")
    mapper = _MAPPERS.get(service)
    if mapper is None:
        raise ImportRefusedError(f"there is no target kind for {service}: start it from a function or a state machine")
    return mapper(match, target)


def _lambda(arn: re.Match[str], _target: Description) -> ImportedTarget:
    name = arn["resource"].removeprefix("function:").replace(":", "-")
    return ImportedTarget(name=f"lambda-{name}", kind="lambda", config={"arn": arn[0], "invocation": "async"})


def _sqs(arn: re.Match[str], target: Description) -> ImportedTarget:
    suffix = "amazonaws.com.cn" if arn["partition"] == "aws-cn" else "amazonaws.com"
    url = f"https://sqs.{arn['region']}.{suffix}/{arn['account']}/{arn['resource']}"
    group = (target.get("SqsParameters") or {}).get("MessageGroupId")
    config = {"queue_url": url, "message_group_id": group}
    return ImportedTarget(name=f"sqs-{arn['resource']}", kind="sqs", config=_given(config))


def _sns(arn: re.Match[str], _target: Description) -> ImportedTarget:
    return ImportedTarget(name=f"sns-{arn['resource']}", kind="sns", config={"topic_arn": arn[0]})


def _events(arn: re.Match[str], target: Description) -> ImportedTarget:
    parameters = target.get("EventBridgeParameters") or {}
    if not {"Source", "DetailType"} <= parameters.keys():
        raise ImportRefusedError("an event bus without Source and DetailType")
    bus = arn["resource"].removeprefix("event-bus/")
    config = {"bus": arn[0], "source": parameters["Source"], "detail_type": parameters["DetailType"]}
    return ImportedTarget(name=f"eventbridge-{bus}", kind="eventbridge", config=config)


def _states(arn: re.Match[str], _target: Description) -> ImportedTarget:
    name = arn["resource"].removeprefix("stateMachine:").replace(":", "-")
    return ImportedTarget(name=f"step_functions-{name}", kind="step_functions", config={"state_machine_arn": arn[0]})


_MAPPERS = {"lambda": _lambda, "sqs": _sqs, "sns": _sns, "events": _events, "states": _states}


# --- what, and how often ---


def _payload(text: str | None, kind: str, notes: list[str]) -> Any:
    if text is None:
        notes.append("it has no input: EventBridge sent an event of its own, Hourbell sends null")
        return None
    if found := sorted(set(_PLACEHOLDER.findall(text))):
        notes.append(
            f"{', '.join(found)} in the input is not filled in: the run's id and time travel beside the payload"
        )
    try:
        payload = json.loads(text)
    except ValueError:
        notes.append("its input is not JSON and is sent as a JSON string, in quotes")
        payload = text
    if kind in _DOCUMENT_KINDS and not isinstance(payload, dict):
        notes.append("its input is no JSON object, and arrives as the member payload of one")
    return payload


def _retry(policy: Mapping[str, Any]) -> dict[str, Any]:
    """The age ends it long before the limit of attempts does: waits grow to an hour, and no age is above a day."""
    attempts = policy.get("MaximumRetryAttempts", _DEFAULT_ATTEMPTS) + 1
    seconds = policy.get("MaximumEventAgeInSeconds", _DEFAULT_AGE_SECONDS)
    return {"max_attempts": min(attempts, MAX_ATTEMPTS_LIMIT), "max_age": f"PT{seconds}S"}
