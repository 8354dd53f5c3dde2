"""The document agrees with the code, and the copy in docs/ with the document."""

from __future__ import annotations

import json
import re
from pathlib import Path

from hourbell.api.app import OPERATIONS
from hourbell.api.docs_page import PAGE, PAGE_HEADERS
from hourbell.api.openapi import openapi_document
from openapi_spec_validator import OpenAPIV31SpecValidator

ROOT = Path(__file__).parents[3]
DOCUMENT = openapi_document()


def references(node) -> set[str]:
    if isinstance(node, dict):
        own = {node["$ref"]} if "$ref" in node else set()
        return own.union(*(references(item) for item in node.values()))
    if isinstance(node, list):
        return set().union(*(references(item) for item in node))
    return set()


def test_the_copy_in_docs_is_current():
    """After a change: python -m hourbell.api.openapi > docs/openapi.json"""
    assert json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8")) == DOCUMENT


def test_it_is_valid_openapi():
    assert [error.message for error in OpenAPIV31SpecValidator(DOCUMENT).iter_errors()] == []


def test_every_operation_is_in_it_once():
    shown = [(method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods]

    assert sorted(shown) == sorted((operation.method, operation.path) for operation in OPERATIONS)
    names = [item["operationId"] for methods in DOCUMENT["paths"].values() for item in methods.values()]
    assert len(names) == len(set(names))


def test_nothing_points_nowhere():
    for reference in references(DOCUMENT):
        kind, name = reference.removeprefix("#/components/").split("/")
        assert name in DOCUMENT["components"][kind]
    assert all(not name.startswith("~") for name in json.dumps(DOCUMENT).split('"'))


def test_what_needs_a_key_says_so():
    open_paths = {
        path for path, methods in DOCUMENT["paths"].items() for item in methods.values() if not item["security"]
    }

    assert open_paths == {"/v1/health", "/openapi.json", "/docs", "/console"}


def test_path_variables_are_parameters():
    for path, methods in DOCUMENT["paths"].items():
        for item in methods.values():
            named = {one["name"] for one in item["parameters"] if one["in"] == "path"}
            assert named == set(re.findall(r"{(\w+)}", path))


def test_the_page_loads_nothing_from_elsewhere():
    assert "//" not in re.sub(r"//\s", "", PAGE).replace("</", "")
    assert "default-src 'none'" in PAGE_HEADERS["Content-Security-Policy"]
    assert PAGE.count("<script>") == 1
