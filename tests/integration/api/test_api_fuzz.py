"""Every member of every body, replaced by everything that does not belong there: accepted or refused, never broken."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hourbell.api.app import OPERATIONS
from hourbell.api.examples import BODIES, PATCHES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.integration.api.conftest import RULES, Client, path_of

JOB = {
    "name": "a",
    "schedule": {
        "cron": "0 2 * * *",
        "timezone": "UTC",
        "gap": "run",
        "repeat": "once",
        "start_at": "2027-06-01T00:00:00Z",
        "end_at": "2028-06-01T00:00:00Z",
        "max_runs": 5,
        "exclude": ["2027-12-25"],
    },
    "target": {"http": {"url": "http://127.0.0.1:9/", "method": "POST", "headers": {"X-A": "1"}, "secret": "s"}},
    "payload": {"a": [1]},
    "window": "PT30M",
    "catch_up": {"policy": "run_once", "within": "P1D"},
    "overlap": "allow",
    "retry": {"max_attempts": 5, "backoff": "fixed", "initial": "1s", "maximum": "1m", "max_age": "1d"},
    "timeout": "PT30S",
    "tags": {"team": "payments"},
    "paused": False,
}
EVERY = {"every": "5s", "anchor": "2027-01-01T00:00:00Z", "timezone": "UTC"}
AT = {"at": "2031-01-01T00:00:00", "timezone": "Europe/Paris", "gap": "run", "repeat": "once", "past": "run_now"}
TARGET = {
    "name": "t",
    "http": {"url": "http://127.0.0.1:9/", "method": "POST", "headers": {"X-A": "1"}, "secret": "s"},
    "rate_per_second": 5,
    "burst": 6,
    "max_concurrency": 7,
}
KINDS = [
    {"lambda": {"arn": "arn:aws:lambda:eu-west-1:123456789012:function:settle:live", "invocation": "async"}},
    {"sqs": {"queue_url": "https://sqs.eu-west-1.amazonaws.com/123456789012/a.fifo", "message_group_id": "g"}},
    {"sns": {"topic_arn": "arn:aws:sns:eu-west-1:123456789012:a", "message_group_id": None}},
    {"eventbridge": {"bus": "default", "source": "payments", "detail_type": "due"}},
    {"step_functions": {"state_machine_arn": "arn:aws:states:eu-west-1:123456789012:stateMachine:settle"}},
]
HOSTILE: list[Any] = [
    None, True, 0, -1, 1.0, 1.5, 1e300, 2**31, 2**63, 10**400,
    "", " ", "x", "1", "\0", "\ud800", "\u202e", "\n", "\u0661", "%s", "'; --", "x" * 5_000, "../../etc",
    "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "P99999999D",
    [], [None], [[]], ["2027-12-25"] * 400,
    {}, {"": None}, {"a": {"b": {}}}, {"\0": 1}, {"http": {}}, {"__class__": "x"},
]  # fmt: skip


def paths(value: Any, prefix: tuple = ()) -> Iterator[tuple]:
    """Of every member, deepest last."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        yield (*prefix, name)
        yield from paths(item, (*prefix, name))


def replaced(body: dict[str, Any], path: tuple, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(body)
    inside = changed
    for name in path[:-1]:
        inside = inside[name]
    inside[path[-1]] = value
    return changed


def with_secret(client: Client, body: dict[str, Any]) -> dict[str, Any]:
    """The body with a secret that the client's tenant may name."""
    path = ("target", "http", "secret") if "target" in body else ("http", "secret")
    return replaced(body, path, RULES.secret_prefix(client.tenant_id) + "s")


def is_fine(answer) -> bool:
    return answer.status in (200, 201) or (answer.status in (400, 409) and len(answer.fields) > 0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(HOSTILE),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def hold(client: Client, method: str, path: str, example: dict[str, Any]) -> None:
    """Whatever stands in any place of the example: an answer, and a refusal that says what is wrong."""
    places = [*paths(example), ("payload",), ("schedule",), ("target",), ("\0",)]

    @settings(max_examples=20, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(places), JSON)
    def send(place: tuple, value: Any) -> None:
        answer = client.call(method, path, replaced(example, place, value))
        assert answer.status < 500, answer.text
        assert answer.status not in (400, 413, 422) or answer.fields

    send()


def test_anything_in_any_member_of_any_body(client: Client, subtests):
    client.scopes = "admin operator"
    for operation in [each for each in OPERATIONS if each.body is not None]:
        example = (PATCHES if operation.method == "PATCH" else BODIES)[operation.body]
        with subtests.test(operation.name):
            hold(client, operation.method, path_of(client, operation), example)


def test_hostile_jobs(client: Client, admin):
    job = with_secret(client, JOB)
    bodies = [job, {**job, "schedule": EVERY}, {**job, "schedule": AT}]
    answers = []
    for body in bodies:
        for path in paths(body):
            if body is not job and path[0] != "schedule":
                continue
            for value in HOSTILE:
                answers.append((path, value, client.post("/v1/jobs", replaced(body, path, value))))
                admin.execute("delete from due")
                admin.execute("delete from job")
                admin.execute("delete from cold_name")

    assert [(path, value, answer.text) for path, value, answer in answers if not is_fine(answer)] == []
    assert {answer.status for _, _, answer in answers} == {201, 400}


def test_hostile_edits(client: Client):
    job = with_secret(client, JOB)
    path_of_job = f"/v1/jobs/{client.post('/v1/jobs', job).json['id']}"
    answers = [
        (path, value, client.patch(path_of_job, replaced(job, path, value)))
        for path in paths(job)
        for value in HOSTILE[::2]
    ]

    assert [(path, value, answer.text) for path, value, answer in answers if not is_fine(answer)] == []
    assert client.patch(path_of_job, job).status == 200


def test_hostile_targets(bare: Client, admin):
    target = with_secret(bare, TARGET)
    answers = []
    for path in paths(target):
        for value in HOSTILE:
            answers.append((path, value, bare.post("/v1/targets", replaced(target, path, value))))
            admin.execute("delete from target")
    assert [(path, value, answer.text) for path, value, answer in answers if not is_fine(answer)] == []

    own = f"/v1/targets/{bare.post('/v1/targets', target).json['id']}"
    answers = [
        (path, value, bare.patch(own, replaced(target, path, value))) for path in paths(target) for value in HOSTILE
    ]
    assert [(path, value, answer.text) for path, value, answer in answers if not is_fine(answer)] == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: next(iter(kind)))
def test_hostile_targets_in_aws(bare: Client, admin, kind: dict[str, Any]):
    target = {"name": "t", **kind}
    assert bare.post("/v1/targets", target).status == 201
    answers = []
    for path in paths(kind):
        for value in HOSTILE:
            admin.execute("delete from target")
            answers.append((path, value, bare.post("/v1/targets", replaced(target, path, value))))

    assert [(path, value, answer.text) for path, value, answer in answers if not is_fine(answer)] == []


def test_hostile_previews(client: Client):
    answers = [
        (path, value, client.post("/v1/schedules/preview", replaced(body, path, value)))
        for schedule in (JOB["schedule"], EVERY, AT)
        for body in [{"schedule": schedule, "after": "2027-01-01T00:00:00Z", "count": 3}]
        for path in paths(body)
        for value in HOSTILE
    ]

    assert [(path, value, answer.text) for path, value, answer in answers if not is_fine(answer)] == []


def test_hostile_queries(client: Client):
    names = ("state", "tag", "name", "q", "target", "limit", "cursor", "job", "from", "to")
    texts = ["", " ", "%", "%00", "%ff", "\\", "'", "a:b", ":", "a:", "tgt_", "job_" + "0" * 26, "x" * 5_000]
    values = [*texts, "-1", "0", "1", "9" * 30, "NaN"]
    answers = [
        (path, name, value, client.get(path, raw_query=f"{name}={value}"))
        for path in ("/v1/jobs", "/v1/runs", "/v1/targets")
        for name in names
        for value in values
    ]

    assert [(*call, answer.text) for *call, answer in answers if not is_fine(answer)] == []
