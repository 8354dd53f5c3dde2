"""The files of ``hourbell jobs apply``: jobs by name, in YAML or JSON."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from hourbell.client import ClientError


class DeclaredJob(NamedTuple):
    """One job of a file: its body, as the API takes it."""

    name: str
    body: dict[str, Any]


class _Loader(yaml.SafeLoader):
    """As the JSON schema of YAML 1.2: times stay text, `yes` is no boolean, 010 and 1:30 are no numbers."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if twice := next((key for key in keys if keys.count(key) > 1), None):
            raise yaml.constructor.ConstructorError(None, None, f"{twice} is given twice", node.start_mark)
        return super().construct_mapping(node, deep=deep)


_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|)$"), ["~", "n", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^-?(?:0|[1-9][0-9]*)$"), list("-0123456789"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+][0-9]+)$"),
    list("-0123456789"),
)
_Loader.add_implicit_resolver("tag:yaml.org,2002:merge", re.compile(r"^(?:<<)$"), ["<"])


def read_jobs(path: str) -> list[DeclaredJob]:
    """The jobs of a file: a list, or ``jobs:`` and a list; ``-`` is standard input.

    Raises:
        ClientError: it cannot be read, or holds something else.
    """
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
        value = _parse(text)
    except OSError as error:
        raise ClientError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ClientError(f"{path}: {' '.join(str(error).split())}") from error
    items = value.get("jobs") if isinstance(value, dict) else value
    if not isinstance(items, list):
        raise ClientError(f"{path}: must hold a list of jobs")
    found = [_job(path, index, item) for index, item in enumerate(items)]
    names = [job.name for job in found]
    for name in names:
        if names.count(name) > 1:
            raise ClientError(f"{path}: {name!r} is there {names.count(name)} times")
    return found


def _parse(text: str) -> Any:
    # JSON is YAML, all but its escapes of surrogates.
    try:
        return json.loads(text)
    except ValueError:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - builds plain values only


def _job(path: str, index: int, item: Any) -> DeclaredJob:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str) or not item["name"]:
        raise ClientError(f"{path}: jobs[{index}] must be a job with a name")
    return DeclaredJob(item["name"], item)
