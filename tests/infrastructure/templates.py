"""Reading synthesised templates: which resources there are, and intrinsic functions as short readable text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cdk.settings import StageSettings

ROOT = Path(__file__).resolve().parents[2]

Json = dict[str, Any]

# The hash that the CDK ends logical ids with.
_HASH = re.compile(r"[0-9A-F]{8}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One resource of a template."""

    stack: str
    id: str
    type: str
    body: Json

    @property
    def properties(self) -> Json:
        properties: Json = self.body.get("Properties", {})
        return properties

    @property
    def name(self) -> str:
        return readable_id(self.id)


def readable_id(logical_id: str) -> str:
    """A logical id without the hash at its end."""
    return _HASH.sub("", logical_id)


@dataclass(frozen=True)
class Assembly:
    """The templates of one stage, by the last part of the stack's name."""

    templates: Mapping[str, Json]
    folder: Path

    @classmethod
    def read(cls, folder: Path) -> Assembly:
        files = sorted(folder.glob("*.template.json"))
        return cls({file.name.split(".")[0].rpartition("-")[2]: json.loads(file.read_text()) for file in files}, folder)

    @cached_property
    def resources(self) -> list[Resource]:
        return [
            Resource(stack=stack, id=id, type=body["Type"], body=body)
            for stack, template in self.templates.items()
            for id, body in template.get("Resources", {}).items()
        ]

    def of_type(self, *types: str) -> list[Resource]:
        return [resource for resource in self.resources if resource.type in types]

    def only(self, type: str) -> Resource:
        (resource,) = self.of_type(type)
        return resource

    def functions(self) -> dict[str, Resource]:
        """Hourbell's own functions by name, without the stage's prefix; the CDK's provider is not among them."""
        functions = self.of_type("AWS::Lambda::Function")
        named = (function for function in functions if "FunctionName" in function.properties)
        return {function.properties["FunctionName"].split("-", 2)[2]: function for function in named}

    def environment(self, function: Resource) -> dict[str, str]:
        variables = function.properties["Environment"]["Variables"]
        return {name: self.text(value) for name, value in variables.items()}

    def statements(self, role: str, stack: str) -> Iterator[Json]:
        """The statements of the policies that a role has."""
        for policy in self.of_type("AWS::IAM::Policy"):
            if policy.stack == stack and {"Ref": role} in policy.properties["Roles"]:
                yield from policy.properties["PolicyDocument"]["Statement"]

    def text(self, value: Any) -> str:
        """An intrinsic function as text: references become names, imports their source, pseudo parameters nothing."""
        match value:
            case {"Fn::GetAtt": [id, attribute]}:
                return f"{readable_id(id)}.{attribute}"
            case {"Ref": id}:
                return "" if id.startswith("AWS::") else readable_id(id)
            case {"Fn::ImportValue": name}:
                return self.text(self._exports[name])
            case {"Fn::Join": [between, parts]}:
                return between.join(self.text(part) for part in parts)
            case {"Fn::Select": [index, {"Fn::Split": [between, source]}]}:
                parts = self.text(source).split(between)
                return parts[int(index)] if int(index) < len(parts) else parts[-1]
            case _:
                return str(value)

    @cached_property
    def _exports(self) -> dict[str, Any]:
        outputs = (output for template in self.templates.values() for output in template.get("Outputs", {}).values())
        return {output["Export"]["Name"]: output["Value"] for output in outputs if "Export" in output}


def as_list(value: Any) -> list[Any]:
    """IAM writes one action as a string, several as a list."""
    return value if isinstance(value, list) else [value]


def context() -> Json:
    """What cdk.json says, without copying assets."""
    declared: Json = json.loads((ROOT / "cdk.json").read_text())["context"]
    return {**declared, "aws:cdk:disable-asset-staging": True}


Synthesise = Callable[[StageSettings], Assembly]
