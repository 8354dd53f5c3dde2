"""What the document says, held against what the API answers, under requests that Schemathesis makes up from it."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import pytest
import schemathesis
from hourbell.api.app import OPERATIONS
from hourbell.api.openapi import openapi_document
from hourbell.api.operations import Operation
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.integration.api.conftest import Client, path_of


@schemathesis.check
def names_what_is_wrong(_context: Any, response: Any, _case: Any) -> None:
    if response.status_code in (400, 413, 422):
        assert response.json()["errors"], response.text


CHECKS = [
    names_what_is_wrong,
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
EXAMPLES = 12
# A batch whose jobs are each for itself is accepted, and refuses them one by one.
FORGIVING = ("createJobs",)


def wsgi(client: Client) -> Any:
    """The API as a web application: requests go in as API Gateway would put them."""

    def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        body = environ["wsgi.input"].read()
        answer = client.call(
            environ["REQUEST_METHOD"],
            environ["PATH_INFO"].encode("latin-1").decode("utf-8", "surrogateescape"),
            raw=base64.b64encode(body).decode() if body else None,
            base64=bool(body),
            raw_query=environ["QUERY_STRING"],
            headers={
                name.removeprefix("HTTP_").replace("_", "-").lower(): value
                for name, value in environ.items()
                if name.startswith("HTTP_")
            },
        )
        start_response(f"{answer.status} {HTTPStatus(answer.status).phrase}", list(answer.headers.items()))
        return [answer.text.encode()]

    return application


def without_keys() -> dict[str, Any]:
    """The document without what the authorizer sees to, which stands before the API."""
    document = openapi_document()
    for methods in document["paths"].values():
        for described in methods.values():
            del described["security"]
    return document


def hold(cases: st.SearchStrategy[Any], own_id: str | None, checks: list[Any]) -> None:
    """Send such requests, some of them to what is there, and hold each reply against the document."""

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases, there=st.booleans())
    def send(case: Any, there: bool) -> None:
        if there and own_id is not None:
            case.path_parameters = {"id": own_id}
        if negative_data_rejection in checks:
            # Another version is refused before a patch is merged into it.
            case.headers.pop("If-Match", None)
        case.validate_response(case.call(), checks=checks)

    send()


@pytest.fixture
def document(client: Client) -> Any:
    client.scopes = "admin operator"
    loaded = schemathesis.openapi.from_dict(without_keys())
    loaded.app = wsgi(client)
    return loaded


def own_id(client: Client, operation: Operation) -> str | None:
    return path_of(client, operation).split("/")[3] if "{id}" in operation.path else None


def test_replies_are_what_the_document_says(client: Client, document: Any, subtests):
    for operation in OPERATIONS:
        described = document[operation.path][operation.method]
        with subtests.test(operation.name):
            hold(described.as_strategy(), own_id(client, operation), CHECKS)


def test_what_the_document_rules_out_is_refused(client: Client, document: Any, subtests):
    for operation in [each for each in OPERATIONS if each.scope is not None and (each.query or each.body)]:
        described = document[operation.path][operation.method]
        strictly = [] if operation.name in FORGIVING else [negative_data_rejection]
        with subtests.test(operation.name):
            cases = described.as_strategy(generation_mode=GenerationMode.NEGATIVE)
            hold(cases, own_id(client, operation), [*CHECKS, *strictly])
