"""Every member of every model, every parameter and every path, found by walking what the API has: none is forgotten."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any, get_args
from urllib.parse import quote

import pytest
from hourbell.api import models
from hourbell.api.app import OPERATIONS
from hourbell.api.examples import BODIES, PATCHES
from hourbell.api.operations import Operation
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.integration.api.conftest import Client, path_of
from tests.integration.api.test_api_fuzz import JSON

Path = tuple[str, ...]

BASES = {models.Model, models.DestinationIn}
WITH_BODY = [each for each in OPERATIONS if each.body is not None]
KEYED = [each for each in OPERATIONS if each.scope is not None]
FEW = settings(max_examples=6, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


def subclasses(model: type[models.Model]) -> Iterator[type[models.Model]]:
    for each in model.__subclasses__():
        yield each
        yield from subclasses(each)


def models_in(annotation: Any) -> Iterator[type[models.Model]]:
    """The models that a member's type mentions, however deep in unions and containers."""
    if isinstance(annotation, type) and issubclass(annotation, models.Model):
        yield annotation
    for inside in get_args(annotation):
        yield from models_in(inside)


def members(model: type[models.Model], prefix: Path = ()) -> Iterator[tuple[Path, type[models.Model]]]:
    """The path of every member that a body of this model may have, and the model it belongs to."""
    for name, member in model.model_fields.items():
        path = (*prefix, member.alias or name)
        yield path, model
        for inner in models_in(member.annotation):
            yield from members(inner, path)


def body_model(operation: Operation) -> type[models.Model]:
    found: type[models.Model] = getattr(models, str(operation.body))
    return found


def example(operation: Operation) -> dict[str, Any]:
    """The documented body, with the target that there is."""
    body = copy.deepcopy((PATCHES if operation.method == "PATCH" else BODIES)[str(operation.body)])
    return body | {"target": "sink"} if isinstance(body.get("target"), str) else body


def placed(body: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """The body with the value there; what stands in the way becomes an object, of a list the first is taken."""
    inside: Any = body
    for name in path[:-1]:
        below = inside.get(name)
        if isinstance(below, list) and below:
            below = below[0]
        if not isinstance(below, dict):
            inside[name] = below = {}
        inside = below
    inside[path[-1]] = value
    return body


def test_every_model_is_reached_by_the_body_of_an_operation():
    reached = {model for operation in WITH_BODY for _, model in members(body_model(operation))}
    empty = {each for each in subclasses(models.Model) if not each.model_fields}
    assert reached == set(subclasses(models.Model)) - BASES - empty


def hold_member(client: Client, operation: Operation, path: str, place: Path) -> None:
    @FEW
    @given(JSON)
    def send(value: Any) -> None:
        answer = client.call(operation.method, path, placed(example(operation), place, value))
        assert answer.status < 500, answer.text
        if answer.status in (400, 413, 422):
            named = {re.split(r"[.\[]", name)[0] for name in answer.fields}
            assert named & {place[0], "body"}, (place, value, answer.text)

    send()


@pytest.mark.parametrize("operation", WITH_BODY, ids=lambda each: each.name)
def test_anything_in_any_member_that_a_body_may_have(client: Client, operation: Operation):
    client.scopes = "admin operator"
    path = path_of(client, operation)
    for place in dict(members(body_model(operation))):
        hold_member(client, operation, path, place)


TEXTS = (
    st.text(max_size=40)
    | st.integers().map(str)
    | st.sampled_from(["\uff11\uff10", "1e9", "+5", "x" * 9_000, "job_", "\u0663"])
)


def hold_parameter(client: Client, operation: Operation, path: str, name: str) -> None:
    body = example(operation) if operation.body else None

    @FEW
    @given(TEXTS)
    def send(value: str) -> None:
        encoded = quote(value, safe="", errors="surrogatepass")
        answer = client.call(operation.method, path, body, raw_query=f"{name}={encoded}")
        assert answer.status < 500, answer.text
        assert answer.status not in (400, 413, 422) or set(answer.fields) <= {name, "query", *(body or {})}, answer.text

    send()


@pytest.mark.parametrize("operation", [each for each in KEYED if each.query], ids=lambda each: each.name)
def test_anything_in_any_parameter(client: Client, operation: Operation):
    client.scopes = "admin operator"
    path = path_of(client, operation)
    for parameter in operation.query:
        hold_parameter(client, operation, path, parameter.name)


@pytest.mark.parametrize("operation", [each for each in KEYED if "{" in each.path], ids=lambda each: each.name)
def test_anything_in_any_path(client: Client, operation: Operation):
    client.scopes = "admin operator"
    body = example(operation) if operation.body else None

    @FEW
    @given(TEXTS)
    def send(value: str) -> None:
        encoded = quote(value, safe="", errors="surrogatepass")
        asked = operation.path.replace("{id}", encoded).replace("{name}", encoded)
        answer = client.call(operation.method, asked, body)
        named = "{name}" in operation.path and (answer.status in (200, 201) or answer.fields == ["name"])
        assert answer.status == 404 or named, answer.text

    send()
