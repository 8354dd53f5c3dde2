"""The OpenAPI 3.1 document, made of the operations and the models; ``docs/openapi.json`` is a copy of it.

python -m hourbell.api.openapi > docs/openapi.json
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from pydantic.json_schema import models_json_schema

from hourbell.api import models
from hourbell.api.answer_once import HEADER, MAX_LENGTH, REPLAYED
from hourbell.api.app import OPERATIONS
from hourbell.api.examples import BODIES, PATCHES, PROBLEMS
from hourbell.api.examples import REPLIES as ANSWERS
from hourbell.api.merge_patch_schemas import patch_name, patch_schemas
from hourbell.api.operations import Operation, Query
from hourbell.api.problems import CONTENT_TYPE
from hourbell.api.schemas import REPLIES

_REF = "#/components/schemas/{model}"
_LIST = "list of "
_WITHOUT_EXAMPLE = ("Any", "Text")
_OR = " or "
VERSION = "1"
_DESCRIPTION = (
    "Times are RFC 3339 in UTC with milliseconds, durations ISO 8601. Errors are problem details (RFC 9457) that name "
    "the field. A key goes into the Authorization header."
)
_PROBLEM = "#/components/responses/{status}"
_REASONS = {
    400: "Bad input",
    401: "No valid API key",
    403: "The key lacks the scope, or its old secret was shown where keys are managed",
    404: "No such thing, or another tenant's",
    409: "Contradicts what is there",
    412: "If-Match names another version",
    413: "The body, or the reply to it, would be too large",
    422: "The Idempotency-Key was used for another request",
    429: "More requests than the tenant may make; Retry-After says when to come back",
    503: "The database or the cold tier does not answer; Retry-After says when to try again",
}
_IDEMPOTENCY_KEY = {
    "name": HEADER,
    "in": "header",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_LENGTH, "pattern": "^[!-~]+$"},
    "description": "the request is carried out once in 24 hours; sent again, it gets the answer of the first time",
}
_REPLAYED = {"schema": {"type": "string", "enum": ["true"]}, "description": "the answer of an earlier request"}
_MEANINGS = {200: "OK", 201: "Created", 202: "Accepted", 204: "Done"}


def openapi_document() -> dict[str, Any]:
    """The whole document."""
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Hourbell", "version": VERSION, "description": _DESCRIPTION},
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "responses": {str(status): _problem(status) for status in sorted(PROBLEMS)},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "an API key: hb_…"}},
        },
    }


def _operation(operation: Operation) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": _description(operation),
        "tags": [_tag(operation.path)],
        "parameters": _parameters(operation),
        "responses": _responses(operation),
        "security": [] if operation.scope is None else [{"key": []}],
    }
    if operation.body is not None:
        shown["requestBody"] = _request_body(operation, operation.body)
    return shown


def _description(operation: Operation) -> str:
    scope = "Needs no key." if operation.scope is None else f"Scope: {operation.scope}."
    return f"{operation.handle.__doc__} {scope}"


def _tag(path: str) -> str:
    return path.split("/")[2] if path.startswith("/v1/") else "documentation"


def _request_body(operation: Operation, body: str) -> dict[str, Any]:
    if operation.method != "PATCH":
        content = {"application/json": {"schema": _ref(body), "example": BODIES[body]}}
        return {"required": not operation.body_optional, "content": content}
    content = {"application/merge-patch+json": {"schema": _ref(patch_name(body)), "example": PATCHES[body]}}
    return {"required": True, "content": content}


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", operation.path)
    ]
    found.extend(_query(query) for query in operation.query)
    if 412 in operation.errors:
        description = "an ETag: the change is made only to this version"
        found.append({"name": "If-Match", "in": "header", "schema": {"type": "string"}, "description": description})
    if operation.acts:
        found.append(_IDEMPOTENCY_KEY)
    return found


def _query(query: Query) -> dict[str, Any]:
    shown = {"name": query.name, "in": "query", "description": query.description, "schema": dict(query.schema)}
    return {**shown, "style": "form", "explode": True} if query.explode else shown


def _responses(operation: Operation) -> dict[str, Any]:
    success: dict[str, Any] = {"description": _MEANINGS[operation.status]}
    if operation.reply is not None:
        success["content"] = {operation.content_type: _reply_content(operation.reply)}
    headers: dict[str, Any] = {}
    if operation.conditional and operation.reply is not None:
        headers["ETag"] = {"schema": {"type": "string"}}
    if operation.acts:
        headers[REPLAYED] = _REPLAYED
    if headers:
        success["headers"] = headers
    failures = {str(status): {"$ref": _PROBLEM.format(status=status)} for status in _failures(operation)}
    created = {"201": {**success, "description": _MEANINGS[201]}} if operation.may_create else {}
    return {str(operation.status): success, **created, **failures}


def _problem(status: int) -> dict[str, Any]:
    examples = {name: {"value": json.loads(problem.body())} for name, problem in PROBLEMS[status].items()}
    names = sorted({name for problem in PROBLEMS[status].values() for name in problem.headers})
    headers = {name: {"schema": {"type": "string"}} for name in names}
    content = {CONTENT_TYPE: {"schema": _ref("Problem"), "examples": examples}}
    return {"description": _REASONS[status], **({"headers": headers} if headers else {}), "content": content}


def _failures(operation: Operation) -> list[int]:
    statuses = {400, *operation.errors}
    if operation.scope is not None:
        statuses |= {401, 403, 429, 503}
    if operation.body is not None:
        statuses |= {413}
    if operation.acts:
        statuses |= {409, 422}
    return sorted(statuses)


def _reply_content(reply: str) -> dict[str, Any]:
    shown = {"schema": _reply_schema(reply)}
    if reply in _WITHOUT_EXAMPLE:
        return shown
    if reply.startswith(_LIST):
        return {**shown, "example": {"items": [ANSWERS[reply.removeprefix(_LIST)]], "next_cursor": None}}
    first, *others = reply.split(_OR)
    if not others:
        return {**shown, "example": ANSWERS[first]}
    return {**shown, "examples": {name: {"value": ANSWERS[name]} for name in (first, *others)}}


def _reply_schema(name: str) -> dict[str, Any]:
    if name == "Any":
        return {"type": "object"}
    if name == "Text":
        return {"type": "string"}
    if _OR in name:
        return {"anyOf": [_ref(one) for one in name.split(_OR)]}
    if not name.startswith(_LIST):
        return _ref(name)
    return {
        "type": "object",
        "required": ["items", "next_cursor"],
        "properties": {
            "items": {"type": "array", "items": _ref(name.removeprefix(_LIST))},
            "next_cursor": {"type": ["string", "null"]},
        },
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": _REF.format(model=name)}


def _schemas() -> dict[str, Any]:
    bodies = {operation.body for operation in OPERATIONS if operation.body is not None}
    incoming = [(getattr(models, name), "validation") for name in sorted(bodies)]
    outgoing = [(model, "serialization") for model in REPLIES.values()]
    _, document = models_json_schema([*incoming, *outgoing], ref_template=_REF)  # type: ignore[list-item]
    schemas: dict[str, Any] = document["$defs"]
    patched = {operation.body for operation in OPERATIONS if operation.method == "PATCH" and operation.body is not None}
    return dict(sorted({**schemas, **patch_schemas(patched, schemas)}.items()))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(openapi_document(), indent=2, ensure_ascii=False) + "\n")
