"""JSON that Python's reader lets through, chokes on or changes."""

from __future__ import annotations

import json
import time

import pytest
from hourbell.api import strict_json
from hourbell.domain.errors import FieldErrors
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.api.cases import SECURITY


def refused(text: str) -> str:
    with pytest.raises(FieldErrors) as caught:
        strict_json.parse(text)
    assert len(caught.value.errors) == 1
    return caught.value.errors[0].field


@pytest.mark.parametrize(
    "text", [*SECURITY["E13"]["payload"], *SECURITY["E10"]["payload"][:2], *SECURITY["E09"]["payload"][:1]]
)
def test_hostile_values_are_refused_by_path(text):
    assert refused(text) == "a"


def test_a_key_with_nul_is_refused_at_its_object():
    assert refused(SECURITY["E09"]["payload"][1]) == "body"
    assert refused('{"b": {"\\u0000": 1}}') == "b"


@pytest.mark.parametrize("text", [SECURITY["E09"]["payload"][2], SECURITY["E10"]["payload"][2]])
def test_lookalikes_survive_unchanged(text):
    assert strict_json.parse(text) == json.loads(text)
    assert strict_json.compact(text) == text


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('{"a": [1, {"b": NaN}]}', "a.1.b"),
        ('{"a": {"b": 1, "b": 1}}', "a.b"),
        ("9" * 4301, "body"),
        ("-" + "9" * 4300, "body"),
        ('["\\uDBFF"]', "0"),
        ('{"\\ud800": 1}', "body"),
        ("[" * 101 + "]" * 101, "body"),
        ("[" * 1_000_000, "body"),
        ('{"a":' * 101 + "1" + "}" * 101, "body"),
        ("01", "body"),
        ("1.", "body"),
        ("+1", "body"),
        ("'a'", "body"),
        ('"\t"', "body"),
        ("\ufeff{}", "body"),
        ("", "body"),
    ],
)
def test_what_is_no_json_or_too_much(text, field):
    assert refused(text) == field


def test_brackets_in_strings_are_no_nesting():
    text = json.dumps({"a": "[" * 1_000 + '\\"{', "b": '"['})

    assert strict_json.parse(text) == json.loads(text)
    assert strict_json.parse("[" * 100 + "]" * 100) == json.loads("[" * 100 + "]" * 100)


@pytest.mark.parametrize(
    "text", ['"\\' * 500_000, '"' * 1_000_000, '\\"' * 500_000, "[{" * 500_000, '{"a":"\\"' * 100_000]
)
def test_no_text_takes_long(text):
    started = time.process_time()

    refused(text)
    strict_json.compact(text)

    assert time.process_time() - started < 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def clean(value) -> bool:
    return "\\u0000" not in json.dumps(value)


@settings(max_examples=150, deadline=None)
@given(JSON.filter(clean), st.sampled_from([None, 2]), st.booleans())
def test_compact_and_members_keep_every_value(value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)

    assert strict_json.parse(text) == value
    assert strict_json.compact(text) == json.dumps(value, separators=(",", ":"), ensure_ascii=ascii_only)
    if isinstance(value, dict):
        assert {name: json.loads(item) for name, item in strict_json.members(text).items()} == value


# RFC 7396, appendix A.
MERGES = [
    ('{"a":"b"}', '{"a":"c"}', '{"a":"c"}'),
    ('{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'),
    ('{"a":"b"}', '{"a":null}', "{}"),
    ('{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'),
    ('{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'),
    ('{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'),
    ('{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'),
    ('{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'),
    ('["a","b"]', '["c","d"]', '["c","d"]'),
    ('{"a":"b"}', '["c"]', '["c"]'),
    ('{"a":"foo"}', "null", "null"),
    ('{"a":"foo"}', '"bar"', '"bar"'),
    ('{"e":null}', '{"a":1}', '{"e":null,"a":1}'),
    ("[1,2]", '{"a":"b","c":null}', '{"a":"b"}'),
    ("{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'),
]


@pytest.mark.parametrize(("target", "patch", "merged"), MERGES)
def test_merge_patch(target, patch, merged):
    assert strict_json.merge(target, patch) == merged
    assert strict_json.merge_values(json.loads(target), json.loads(patch)) == json.loads(merged)


def test_a_merge_keeps_the_spelling_of_what_it_does_not_touch():
    target = r'{"n":1.50,"big":123456789012345678901234567890,"t":"\u00fc","o":{"k":1e2,"x":1}}'

    merged = strict_json.merge(target, ' { "o" : { "x" : null , "y" : 0.10 } } ')

    assert merged == r'{"n":1.50,"big":123456789012345678901234567890,"t":"\u00fc","o":{"k":1e2,"y":0.10}}'


@settings(max_examples=100, deadline=None)
@given(JSON.filter(clean), JSON.filter(clean))
def test_both_merges_agree(target, patch):
    merged = strict_json.merge(json.dumps(target), json.dumps(patch))

    assert json.loads(merged) == strict_json.merge_values(target, patch)
