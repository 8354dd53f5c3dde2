"""A crontab as jobs: crontab(5) as Debian has it, with cronie's ``CRON_TZ`` and ``RANDOM_DELAY``.

Hourbell runs no commands. Each line becomes a job whose payload carries the command, and the target that the user names
(an agent on the machine, say) runs it: ``{"command", "stdin", "environment", "user"}``.

    # a comment                     skipped, as are blank lines
    NAME = value                    environment of the lines below it; quotes keep blanks, nothing is expanded
    m h dom mon dow [user] command  the user column in system crontabs only
    @daily [user] command

In a command the first ``%`` ends it and the rest is its standard input, where every further ``%`` is a line end;
``\\%`` is a plain ``%`` (do_command.c).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

from hourbell.domain.clock import zone
from hourbell.domain.errors import HourbellError
from hourbell.importing.plan import ImportedJob, ImportRefusedError, Plan, Refused, check_schedule

NICKNAMES = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})

DIFFERENCE = (
    "cron forgets what it missed and what failed; these jobs run the latest time missed in an outage, and try again "
    "(catch_up, retry)"
)

# Mail is what cron tells of a run by; Hourbell has run records.
_MAIL = frozenset({"MAILTO", "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING"})

_ASSIGNMENT = re.compile(r"""(?P<name>[^\s='"]+|'[^'=]*'|"[^"=]*")\s*=\s*(?P<value>.*)""", re.DOTALL)
_FIELD = r"[^\s]+"
_WHEN = re.compile(rf"(?P<when>@{_FIELD}|{_FIELD}(?:[ \t]+{_FIELD}){{4}})(?:[ \t]+(?P<rest>.*))?")
_NUMBER_OR_NAME = r"(?:[0-9]{1,2}|[A-Za-z]{3})"
_PART = re.compile(rf"(?:\*|(?P<low>{_NUMBER_OR_NAME})(?:-(?P<high>{_NUMBER_OR_NAME}))?)(?P<step>/[0-9]+)?")
_NAMES = {
    3: ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    4: ("sun", "mon", "tue", "wed", "thu", "fri", "sat"),
}
_SLUG = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CrontabOptions:
    """``timezone``: of lines above any ``CRON_TZ``. ``system``: whether lines have a user column."""

    target: str
    timezone: str
    system: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)
    prefix: str = "crontab"


def read_crontab(text: str, options: CrontabOptions, *, now: datetime) -> Plan:
    """Read a whole crontab. Lines that cannot be read are among ``refused``; nothing is raised for them."""
    reader = _Reader(options, now)
    for number, line in enumerate(text.split("\n"), 1):
        reader.read(f"line {number}", line.strip(" \t\r"))
    notes = (*reader.notes, *([DIFFERENCE] if reader.jobs else []))
    return Plan(jobs=tuple(reader.jobs), refused=tuple(reader.refused), notes=tuple(dict.fromkeys(notes)))


def split_command(text: str) -> tuple[str, str | None]:
    """A command and its standard input; None where it has none. Input always ends in a line end."""
    command, rest, found = _until_percent(text)
    if not found:
        return command, None
    pieces = []
    while found:
        piece, rest, found = _until_percent(rest)
        pieces.append(piece)
    data = "\n".join(pieces)
    return command, data if not data or data.endswith("\n") else f"{data}\n"


def _until_percent(text: str) -> tuple[str, str, bool]:
    """What stands before the first bare ``%``, what stands behind it, and whether there is one."""
    kept: list[str] = []
    escaped = False
    for position, letter in enumerate(text):
        if letter == "%" and not escaped:
            return "".join(kept), text[position + 1 :], True
        if letter == "%":
            kept.pop()
        kept.append(letter)
        escaped = letter == "\\" and not escaped
    return "".join(kept), "", False


class _Reader:
    def __init__(self, options: CrontabOptions, now: datetime) -> None:
        self._options = options
        self._now = now
        self._environment: dict[str, str] = {}
        self._timezone: str | ImportRefusedError = options.timezone
        self._window: str | None = None
        self._same: Counter[str] = Counter()
        self.jobs: list[ImportedJob] = []
        self.refused: list[Refused] = []
        self.notes: list[str] = []

    def read(self, source: str, line: str) -> None:
        if not line or line.startswith("#"):
            return
        assignment = _ASSIGNMENT.fullmatch(line)
        try:
            # As cron does: what can be read as an assignment is one.
            if assignment is not None:
                self._assign(_unquoted(assignment["name"]), _unquoted(assignment["value"]))
            else:
                self.jobs.append(self._job(source, line))
        except ImportRefusedError as error:
            self.refused.append(Refused(source=source, text=line, reason=str(error)))

    def _assign(self, name: str, value: str) -> None:
        if name == "CRON_TZ":
            self._timezone = _zone(value)
            if isinstance(self._timezone, ImportRefusedError):
                raise self._timezone
        elif name == "RANDOM_DELAY":
            if not value.isdecimal():
                raise ImportRefusedError("RANDOM_DELAY is a number of minutes")
            self._window = f"PT{value}M" if int(value) else None
            self.notes.append("RANDOM_DELAY becomes a window: each job is late by the same time of its own every time")
        elif name in _MAIL:
            self.notes.append(f"{name} is ignored: no mail is sent, each run has a record (hourbell runs list)")
        else:
            if name == "TZ":
                self.notes.append("TZ is what commands see; what moves their schedules is CRON_TZ (crontab(5))")
            self._environment[name] = value

    def _job(self, source: str, line: str) -> ImportedJob:
        notes = []
        if line.startswith("-"):
            line = line[1:]
            notes.append("the leading - (no syslog) has no meaning here")
        cron, user, command_line = self._split(line)
        if isinstance(self._timezone, ImportRefusedError):
            raise ImportRefusedError(f"it is below a CRON_TZ that cannot be read: {self._timezone}")
        schedule = {"cron": cron, "timezone": self._timezone}
        check_schedule(schedule, now=self._now)
        command, stdin = split_command(command_line)
        if stdin is not None:
            notes.append("what follows the first % is the payload's stdin")
        payload = {"command": command, "stdin": stdin, "environment": dict(self._environment), "user": user}
        definition: dict[str, Any] = {
            "name": self._name(user, command_line),
            "schedule": schedule,
            "target": self._options.target,
            "payload": payload,
            "tags": {"imported-from": "crontab", **self._options.tags},
        }
        if self._window is not None:
            definition["window"] = self._window
        return ImportedJob(source=source, definition=definition, notes=tuple(notes))

    def _split(self, line: str) -> tuple[str, str | None, str]:
        """When, who and what."""
        match = _WHEN.fullmatch(line)
        if match is None:
            raise ImportRefusedError("it has neither five fields nor a word like @daily, and assigns nothing")
        cron, rest = _checked(match["when"]), match["rest"] or ""
        user = None
        if self._options.system:
            user, rest = [*rest.split(maxsplit=1), "", ""][:2]
        if not rest:
            missing = "a user and a command" if self._options.system else "a command"
            raise ImportRefusedError(f"it has no room for {missing}")
        return cron, user, rest

    def _name(self, user: str | None, command: str) -> str:
        """The same for the same command of the same user, wherever it stands and whenever it runs."""
        first = command.split(maxsplit=1)[0].rpartition("/")[2]
        digest = sha256(f"{user or ''}\n{command}".encode("utf-8", "surrogateescape")).hexdigest()[:8]
        name = "-".join(part for part in (self._options.prefix, _SLUG.sub("_", first)[:60], digest) if part)
        self._same[name] += 1
        return name if self._same[name] == 1 else f"{name}-{self._same[name]}"


def _zone(name: str) -> str | ImportRefusedError:
    try:
        return zone(name).name
    except HourbellError as error:
        return ImportRefusedError(str(error))


def _unquoted(text: str) -> str:
    """Blanks around it go, those between matching quotes stay."""
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _checked(when: str) -> str:
    """The fields, if Debian's cron would take them.

    Raises:
        ImportRefusedError: what another scheduler reads differently, or at all.
    """
    if when == "@reboot":
        raise ImportRefusedError("@reboot is no time: let the machine trigger a job when it starts, or keep the line")
    if when.startswith("@"):
        if when.lower() not in NICKNAMES:
            raise ImportRefusedError(f"{when} is none of {', '.join(sorted(NICKNAMES))}")
        return when.lower()
    fields = when.split()
    for index, text in enumerate(fields):
        for part in text.split(","):
            _check_part(part, index)
    return " ".join(fields)


def _check_part(part: str, index: int) -> None:
    if "~" in part:
        raise ImportRefusedError(f"{part}: a random time; write a time, and give the job a window")
    match = _PART.fullmatch(part)
    if match is None:
        raise ImportRefusedError(f"{part} is not crontab(5)")
    if match["low"] and match["step"] and not match["high"]:
        raise ImportRefusedError(f"{part}: crons differ in what a step behind a single number means; write a range")
    if match["high"] and _value(match["low"], index) > _value(match["high"], index):
        raise ImportRefusedError(f"{part} ends before it begins, which cron does not take")


def _value(text: str, index: int) -> int:
    if text.isdecimal():
        return int(text)
    names = _NAMES.get(index, ())
    if text.lower() not in names:
        raise ImportRefusedError(f"{text} is not crontab(5)")
    return names.index(text.lower()) + (index == 3)
