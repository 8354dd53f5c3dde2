"""The client keeps up with the API: a method for each operation, a parameter for each query, a field for each reply."""

from __future__ import annotations

import inspect
import re
from typing import get_type_hints

import pytest
from hourbell.api.app import OPERATIONS
from hourbell.api.operations import Operation
from hourbell.api.schemas import REPLIES
from hourbell.client import Client, replies
from hourbell.client.operation import Operation as Method
from hourbell.client.requests import Request

# Pages for people to look at.
PAGES = {"/docs", "/console"}

CLIENT_SIDE = {"from": "from_"}


def requests() -> dict[tuple[str, str], Request]:
    """The call of every method, by what the API calls it."""
    methods = {name: method for name, method in vars(Client.__base__).items() if isinstance(method, Method)}
    del methods["request"]
    described = (described_call(method) for method in methods.values())
    return {(call.method, call.path): call for call in described}


def described_call(method: Method) -> Request:
    parameters = list(inspect.signature(method.describe).parameters.values())[1:]
    needed = [each for each in parameters if each.default is each.empty and each.kind is not each.VAR_KEYWORD]
    named = {each.name: {} for each in needed if each.kind is each.KEYWORD_ONLY}
    return method.describe(None, *({} for each in needed if each.kind is not each.KEYWORD_ONLY), **named)


CALLS = requests()
COVERED = [operation for operation in OPERATIONS if operation.path not in PAGES]


@pytest.mark.parametrize("operation", COVERED, ids=lambda operation: operation.name)
def test_every_operation_has_a_method_that_takes_its_parameters(operation: Operation):
    """Missing? Describe the call in hourbell/client/operations.py."""
    call = CALLS[operation.method, operation.path]

    assert set(call.query) == {query.name for query in operation.query}
    assert set(call.variables) == set(re.findall(r"{(\w+)}", operation.path))


def test_no_method_is_of_something_that_the_api_does_not_have():
    assert set(CALLS) <= {(operation.method, operation.path) for operation in OPERATIONS}


@pytest.mark.parametrize("name", sorted(set(REPLIES) - {"Problem"}))
def test_replies_are_typed_as_the_api_describes_them(name: str):
    """Missing or other fields? Bring hourbell/client/replies.py up to date."""
    typed = getattr(replies, name)
    described = {field.alias or member for member, field in REPLIES[name].model_fields.items()}

    assert set(get_type_hints(typed)) == described
