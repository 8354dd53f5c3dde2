"""The schema of a JSON merge patch (RFC 7396), made of the schema of what it is merged into.

Every member may be left out, and null takes it away; what the model does not know may be taken away too, since it is
not there. Objects are merged, so theirs are patches again; lists and scalars are replaced.
"""

from __future__ import annotations

from typing import Any

_NULL = {"type": "null"}
_WORDS = frozenset({"title", "description", "examples"})
_SUFFIX = "Patch"
_PREFIX = "#/components/schemas/"


def patch_name(model: str) -> str:
    """What the schema of a patch of this model is called."""
    return f"{model}{_SUFFIX}"


def patch_schemas(names: set[str], schemas: dict[str, Any]) -> dict[str, Any]:
    """The schemas of patches of these models, and of the objects in them, by their names."""
    made: dict[str, Any] = {}
    wanted = sorted(names)
    while wanted:
        name = wanted.pop()
        if patch_name(name) not in made:
            made[patch_name(name)] = _patch(schemas[name], wanted)
            made[patch_name(name)]["title"] = patch_name(name)
    return made


def _patch(schema: dict[str, Any], wanted: list[str]) -> dict[str, Any]:
    """``wanted`` gets the models that the schema refers to."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_PREFIX)
        wanted.append(name)
        return {**schema, "$ref": _PREFIX + patch_name(name)}
    patched = {key: value for key, value in schema.items() if key not in {"required", "default", "discriminator"}}
    for key in ("anyOf", "oneOf"):
        if key in schema:
            patched[key] = [_patch(choice, wanted) for choice in schema[key]]
    if schema.get("type") == "object":
        members = schema.get("properties", {})
        patched |= {"properties": {name: _nullable(_patch(member, wanted)) for name, member in members.items()}}
        others = schema.get("additionalProperties", True)
        if others is not True:
            patched["additionalProperties"] = _NULL if others is False else _nullable(_patch(others, wanted))
        if not members:
            del patched["properties"]
    return patched


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """Keeps its words beside the choice, where readers look for them."""
    if _is_nullable(schema):
        return schema
    words = {key: value for key, value in schema.items() if key in _WORDS}
    rest = {key: value for key, value in schema.items() if key not in _WORDS}
    return {**words, "anyOf": [rest, _NULL]}


def _is_nullable(schema: dict[str, Any]) -> bool:
    constrains = {"type", "anyOf", "oneOf", "allOf", "enum", "const", "$ref"} & set(schema)
    return not constrains or _NULL in schema.get("anyOf", [])
