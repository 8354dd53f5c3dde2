"""Every body, every reply and every problem of the document has an example, and each is what it is an example of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hourbell.api import models
from hourbell.api.app import OPERATIONS
from hourbell.api.examples import BODIES, PATCHES, PROBLEMS
from hourbell.api.examples import REPLIES as ANSWERS
from hourbell.api.openapi import openapi_document
from hourbell.api.operations import Operation
from hourbell.api.schemas import REPLIES
from hourbell.api.strict_json import dump, merge_values
from openapi_schema_validator import OAS31Validator

DOCUMENT = openapi_document()
PAGES = ("Any", "Text")


def shown(operation: Operation) -> dict[str, Any]:
    return DOCUMENT["paths"][operation.path][operation.method.lower()]


def values(media: dict[str, Any]) -> list[Any]:
    return [media["example"]] if "example" in media else [one["value"] for one in media["examples"].values()]


def replies(operation: Operation) -> Iterator[tuple[int, dict[str, Any]]]:
    for status, reply in shown(operation)["responses"].items():
        there = DOCUMENT["components"]["responses"][reply["$ref"].split("/")[-1]] if "$ref" in reply else reply
        for media in there.get("content", {}).values():
            yield int(status), media


def flaws(schema: dict[str, Any], value: Any) -> list[str]:
    validator = OAS31Validator({**schema, "components": DOCUMENT["components"]})
    return [error.message for error in validator.iter_errors(value)]


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each.body], ids=lambda each: each.name)
def test_the_example_of_a_body_is_such_a_body(operation: Operation):
    (media,) = shown(operation)["requestBody"]["content"].values()
    (body,) = values(media)

    assert flaws(media["schema"], body) == []
    whole = body if operation.method != "PATCH" else merge_values(BODIES.get(operation.body), body)
    models.validated(getattr(models, operation.body), whole)


@pytest.mark.parametrize(
    "patch",
    [
        {},
        {"name": None},
        {"unknown": None},
        {"schedule": {"cron": None, "every": "5m"}},
        {"target": {"http": {"timeout": None}, "sqs": None}},
        {"tags": {"team": None, "env": "live"}, "paused": None},
        {"payload": [1, {"any": "thing"}]},
    ],
)
def test_a_patch_names_what_it_changes_and_takes_away_by_null(patch: dict[str, Any]):
    assert flaws({"$ref": "#/components/schemas/JobInPatch"}, patch) == []


@pytest.mark.parametrize(
    "patch",
    [
        None,
        [],
        {"unknown": 1},
        {"name": 7},
        {"overlap": "perhaps"},
        {"schedule": {"every": 5}},
        {"schedule": {"unknown": "x"}},
        {"target": {"http": {"method": "BREW"}}},
        {"tags": {"team": 1}},
    ],
)
def test_a_patch_is_of_the_types_of_what_it_changes(patch: Any):
    assert flaws({"$ref": "#/components/schemas/JobInPatch"}, patch) != []


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_the_examples_of_replies_are_such_replies(operation: Operation):
    for status, media in replies(operation):
        if operation.reply in PAGES and status < 300:
            continue
        found = values(media)
        assert found
        assert [flaw for value in found for flaw in flaws(media["schema"], value)] == []
        if status >= 400:
            assert {value["status"] for value in found} == {status}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_example_leaves_no_member_out(name: str):
    REPLIES[name].model_validate_json(dump(ANSWERS[name]))


def test_there_is_no_example_of_what_the_api_does_not_have():
    assert set(BODIES) | set(PATCHES) == {operation.body for operation in OPERATIONS if operation.body}
    assert set(ANSWERS) == set(REPLIES) - {"Problem"}


def test_the_page_about_the_api_lists_the_same_problems():
    page = (Path(__file__).parents[3] / "docs" / "api.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d{3}) \| (.+?) \|", page, re.MULTILINE)
    listed = {(int(status), slug) for status, slugs in rows for slug in re.findall(r"`([a-z-]+)`", slugs)}

    problems = [problem for named in PROBLEMS.values() for problem in named.values()]
    never_meant = {(500, "internal")}
    assert {(problem.status, problem.slug) for problem in problems} == listed - never_meant
