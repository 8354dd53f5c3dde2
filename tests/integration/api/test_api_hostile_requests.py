"""Every operation, new ones too, under requests that nobody honest sends: a 4xx that names what is wrong."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hourbell.api.app import OPERATIONS
from hourbell.api.calls import MAX_BATCH_BODY_BYTES, MAX_BODY_BYTES
from hourbell.api.examples import BODIES, PATCHES
from hourbell.api.operations import Operation
from hourbell.api.problems import not_found

from tests.integration.api.conftest import Client, path_of

PREFIX = '{"schedule": {"every": "1h"}, "target": "sink", "payload": '
DIGITS = "9" * 4301

BAD_BODIES: list[tuple[str, str, str]] = [
    ("missing", "", "body"),
    ("byte order mark", "\ufeff{}", "body"),
    ("blank", " \n", "body"),
    ("broken", "{", "body"),
    ("trailing", "{} {}", "body"),
    ("no object", "[]", "body"),
    ("null", "null", "body"),
    ("a number", "1", "body"),
    ("single quotes", "{'a': 1}", "body"),
    ("control character", '{"name": "a\x01"}', "body"),
    ("deep lists", "[" * 200_000 + "]" * 200_000, "body"),
    ("deep objects", '{"a":' * 200_000 + "1" + "}" * 200_000, "body"),
    ("deep and open", "[" * 200_000, "body"),
    ("a megabyte of quotes", '"\\' * 500_000, "body"),
    ("NaN", PREFIX + '{"a": NaN}}', "payload.a"),
    ("Infinity", PREFIX + "[Infinity]}", "payload.0"),
    ("minus Infinity", PREFIX + "-Infinity}", "payload"),
    ("1e999", PREFIX + '{"a": 1e999}}', "payload.a"),
    ("1e100000", PREFIX + '{"a": -1e100000}}', "payload.a"),
    ("4301 digits", PREFIX + DIGITS + "}", "payload"),
    ("4301 digits in a field", PREFIX + '1, "retry": {"max_attempts": ' + DIGITS + "}}", "retry.max_attempts"),
    ("twice", PREFIX + '{"a": 1, "b": 2, "a": 3}}', "payload.a"),
    ("twice by escape", PREFIX + '{"a": 1, "\\u0061": 3}}', "payload.a"),
    ("schedule twice", PREFIX + '1, "schedule": {"every": "1h"}}', "schedule"),
    ("NUL", PREFIX + '{"a": "\\u0000"}}', "payload.a"),
    ("NUL in a key", PREFIX + '{"\\u0000": 1}}', "payload"),
    ("lone surrogate", PREFIX + '{"a": "\\ud800"}}', "payload.a"),
    ("surrogates the wrong way round", PREFIX + '["\\udc00\\ud800"]}', "payload.0"),
    ("surrogate from the gateway", PREFIX + '"\ud800"}', "payload"),
]

NO_UTF8 = [b'{"name": "\xff"}', b'{"\xc0\xae": 1}', b"\xed\xa0\x80", b'{"a": "\xf4\x90\x80\x80"}']

BAD_IDS = [
    "x", "%00", "%ff", "..", "%2e%2e", "*", "'; drop table job; --", "job_", "job_" + "0" * 25, "job_" + "z" * 26,
    "job_01mnj4t0g0g0080002q046mg7\u0660", "{01a5644d-0200-7f5b-b1a9-252525252525}", "x" * 5_000, "-1", "9" * 400,
    "\u202e", "\0", "\ud800", "a b",
]  # fmt: skip
BAD_NAMES = ["a\nb", "a\n", "%00", "%ff", "%0A", "%20a", "x" * 201, "%ed%a0%80", "\0", "\ud800", "\u202ea"]
BAD_QUERIES = [
    ("%ff=1", "query"), ("a=%ff", "query"), ("a=%00", "a"), ("%00=1", "\0"), ("a=%ed%a0%80", "query"),
    ("&".join(f"a{n}=" for n in range(51)), "query"), ("shedule=1", "shedule"), ("=", ""), ("__proto__=1", "__proto__"),
]  # fmt: skip
BAD_VALUES = [
    "",
    " ",
    "%",
    "\\",
    "'",
    "x" * 5_000,
    "-1",
    "9" * 30,
    "1e3",
    "NaN",
    "\u0661",
    "true",
    "{}",
    "job_",
    "tgt_",
]
BAD_KEYS = ["", " ", "a b", "\u00e9", "a\n", "\0", "\ud800", "x" * 256]
OTHER_VERSIONS = [
    "",
    '"',
    '""',
    '"999"',
    'W/"1"',
    '"-1"',
    '"1.0"',
    '"\u0661"',
    '"' + "9" * 5_000 + '"',
    "1",
    "\0",
    "," * 9_999,
]
BAD_CURSORS = ["", "x", "%00", "AAAA", "A" * 600, "=" * 40, "%c3%a9", "9" * 5_000]


NO_ROUTE = not_found("route").body()
KEYED = [each for each in OPERATIONS if each.scope is not None]
WITH_BODY = [each for each in KEYED if each.body is not None]


@pytest.fixture
def operator(client: Client) -> Client:
    """A client that may do all there is."""
    client.scopes = "admin operator"
    return client


def body_of(operation: Operation) -> dict[str, Any]:
    return (PATCHES if operation.method == "PATCH" else BODIES)[operation.body]


def members(body: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any], str, str]]:
    """Copies of the body: the copy, the object in it, the member's name there, and its path."""
    for name, value in body.items():
        copied = copy.deepcopy(body)
        yield copied, copied, name, name
        if isinstance(value, dict) and name not in ("payload", "progress", "result"):
            for inner in value:
                copied = copy.deepcopy(body)
                yield copied, copied[name], inner, f"{name}.{inner}"


def test_a_bad_body_is_refused_on_every_operation_that_takes_one(operator: Client, subtests):
    for operation in WITH_BODY:
        path = path_of(operator, operation)
        limit = MAX_BATCH_BODY_BYTES if operation.body == "JobBatchIn" else MAX_BODY_BYTES
        for name, raw, field in [*BAD_BODIES, ("too large", '"' + "x" * (limit - 1) + '"', "body")]:
            if not raw and operation.body_optional:
                continue
            with subtests.test(operation.name, case=name):
                answer = operator.call(operation.method, path, raw=raw)
                assert (answer.status, answer.fields) == (413 if len(raw) > limit else 400, [field])


def test_a_body_that_is_no_utf8_is_refused(operator: Client, subtests):
    for operation in WITH_BODY:
        path = path_of(operator, operation)
        for raw in ("*", *(base64.b64encode(text).decode() for text in NO_UTF8)):
            with subtests.test(operation.name, case=raw):
                answer = operator.call(operation.method, path, raw=raw, base64=True)
                assert (answer.status, answer.fields) == (400, ["body"])


def test_a_compressed_body_is_told_that_none_is_unpacked(operator: Client, subtests):
    for operation in WITH_BODY:
        path = path_of(operator, operation)
        for encoding in ("gzip", "br", "identity, gzip", "\u00e9"):
            with subtests.test(operation.name, case=encoding):
                headers = {"content-encoding": encoding}
                answer = operator.call(operation.method, path, body_of(operation), headers=headers)
                assert (answer.status, answer.fields) == (400, ["Content-Encoding"])
    as_it_is = operator.post("/v1/schedules/preview", BODIES["PreviewIn"], headers={"content-encoding": "Identity"})
    assert as_it_is.status == 200


def test_a_member_that_is_broken_is_named(operator: Client, subtests):
    for operation in WITH_BODY:
        path = path_of(operator, operation)
        for broken in ('"\\u0000"', '"\\ud800"', "NaN", "1e999", DIGITS, '{"a": 1, "a": 1}'):
            for copied, inside, member, field in members(body_of(operation)):
                inside[member] = "@"
                with subtests.test(operation.name, case=field, broken=broken[:20]):
                    answer = operator.call(operation.method, path, raw=json.dumps(copied).replace('"@"', broken))
                    assert answer.status == 400
                    assert all(found in (field, f"{field}.a") for found in answer.fields)


def test_a_number_that_no_column_holds_is_refused(operator: Client, subtests):
    for operation in WITH_BODY:
        path = path_of(operator, operation)
        for value in (2**63, -(2**63) - 1, 10**400, 1e300):
            for copied, inside, member, field in members({**body_of(operation), "unknown": 0}):
                if field in ("payload", "progress", "result"):
                    continue
                inside[member] = value
                with subtests.test(operation.name, case=field, value=str(value)[:20]):
                    answer = operator.call(operation.method, path, copied)
                    assert answer.status == 400
                    assert field in answer.fields


def test_an_id_that_is_none_is_not_there(operator: Client, subtests):
    for operation in [each for each in KEYED if "{id}" in each.path]:
        body = body_of(operation) if operation.body else None
        missing = operator.call(operation.method, operation.path.replace("{id}", "x"), body)
        for bad in BAD_IDS:
            with subtests.test(operation.name, case=bad[:40]):
                answer = operator.call(operation.method, operation.path.replace("{id}", bad), body)
                assert (answer.status, answer.fields) == (404, [])
                assert answer.text in (missing.text, NO_ROUTE)


def test_a_name_that_cannot_be_is_named(operator: Client, subtests):
    for operation in [each for each in KEYED if "{name}" in each.path]:
        body = {key: value for key, value in body_of(operation).items() if key != "name"} | {"target": "sink"}
        for bad in BAD_NAMES:
            with subtests.test(operation.name, case=bad[:40]):
                answer = operator.call(operation.method, operation.path.replace("{name}", bad), body)
                assert (answer.status, answer.fields) == (400, ["name"])


def test_a_bad_query_is_named(operator: Client, subtests):
    for operation in KEYED:
        path = path_of(operator, operation)
        body = body_of(operation) if operation.body else None
        for query, field in BAD_QUERIES:
            with subtests.test(operation.name, case=query[:40]):
                answer = operator.call(operation.method, path, body, raw_query=query)
                assert (answer.status, answer.fields) == (400, [field])


def test_a_bad_value_of_a_parameter_is_named(operator: Client, subtests):
    for operation in [each for each in KEYED if each.query]:
        path = path_of(operator, operation)
        body = {**body_of(operation), "target": "sink"} if operation.body else None
        for query in operation.query:
            for value in BAD_VALUES:
                with subtests.test(operation.name, case=query.name, value=value[:20]):
                    answer = operator.call(operation.method, path, body, query={query.name: value})
                    assert answer.status < 300 or (answer.status, answer.fields) == (400, [query.name])


def test_a_bad_idempotency_key_is_named(operator: Client, subtests):
    for operation in [each for each in KEYED if each.acts]:
        path = path_of(operator, operation)
        for bad in BAD_KEYS:
            with subtests.test(operation.name, case=bad[:40]):
                headers = {"idempotency-key": bad}
                answer = operator.call(operation.method, path, body_of(operation), headers=headers)
                assert (answer.status, answer.fields) == (400, ["Idempotency-Key"])


def test_a_version_that_is_none_does_not_match(operator: Client, subtests):
    for operation in [each for each in KEYED if 412 in each.errors]:
        path = path_of(operator, operation)
        body = body_of(operation) if operation.body else None
        for version in OTHER_VERSIONS:
            with subtests.test(operation.name, case=version[:40]):
                answer = operator.call(operation.method, path, body, headers={"if-match": version})
                assert (answer.status, answer.fields) == (412, [])


def test_a_cursor_of_no_list_is_named(operator: Client, subtests):
    for operation in [each for each in KEYED if any(query.name == "cursor" for query in each.query)]:
        path = path_of(operator, operation)
        for cursor in BAD_CURSORS:
            with subtests.test(operation.name, case=cursor[:40]):
                answer = operator.call(operation.method, path, raw_query=f"cursor={cursor}")
                assert (answer.status, answer.fields) == (400, ["cursor"])
