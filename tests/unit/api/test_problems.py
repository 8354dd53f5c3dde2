"""Every error has one meaning to a caller, and none breaks the reply."""

from __future__ import annotations

import json

import psycopg
import pytest
from hourbell.api.problems import AuthenticationError, ScopeError, TooLargeError, problem_of
from hourbell.api.schemas import REPLIES
from hourbell.domain.errors import FieldError, FieldErrors
from hourbell.services.errors import NotFoundError, StateError, VersionError
from hourbell.store.constraints import ConflictError


@pytest.mark.parametrize(
    ("error", "status", "fields"),
    [
        (FieldError("schedule.cron", "no"), 400, ["schedule.cron"]),
        (FieldErrors([FieldError("a", "x"), FieldError("b", "y")]), 400, ["a", "b"]),
        (ConflictError("name", "taken"), 409, ["name"]),
        (StateError("completed"), 409, []),
        (NotFoundError("job"), 404, []),
        (VersionError("is at version 3"), 412, []),
        (AuthenticationError("no"), 401, []),
        (ScopeError("jobs:read"), 403, []),
        (TooLargeError("big"), 413, ["body"]),
        (psycopg.errors.CharacterNotInRepertoire("x"), 400, ["body"]),
        (psycopg.errors.NumericValueOutOfRange("x"), 400, ["body"]),
        (psycopg.OperationalError("gone"), 503, []),
        (psycopg.InterfaceError("closed"), 503, []),
        (psycopg.ProgrammingError("bug"), 500, []),
        (KeyError("secret detail"), 500, []),
    ],
)
def test_the_table(error, status, fields):
    problem = problem_of(error)

    document = REPLIES["Problem"].model_validate_json(problem.body())
    assert (problem.status, document.status, [flaw.field for flaw in document.errors]) == (status, status, fields)
    assert "secret detail" not in problem.body()


def test_a_hostile_field_name_is_quoted_and_cut():
    body = problem_of(FieldError("a\ud800\0\u00e9" + "x" * 1_000, "is \udfff bad")).body()

    assert body.isascii()
    field = json.loads(body)["errors"][0]["field"]
    assert field.startswith("a\\ud800\0\\xe9x")
    assert len(field) == 200
