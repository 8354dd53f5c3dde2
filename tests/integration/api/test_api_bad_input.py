"""Bad input is a 4xx that names the field, never a 500, and leaves nothing behind."""

from __future__ import annotations

import base64
import json
from typing import Any

from hourbell.domain.instants import format_instant
from hourbell.domain.limits import PREVIEW_MAX

from tests.integration.api.conftest import Client
from tests.seeds import T0

SCHEDULE = {"every": "1h"}

BAD_JOBS: list[tuple[str, dict[str, Any], str]] = [
    ("unknown cron", {"schedule": {"cron": "61 * * * *"}}, "schedule.cron"),
    ("impossible date", {"schedule": {"cron": "0 0 31 2 *", "timezone": "UTC"}}, "schedule.cron"),
    ("unknown zone", {"schedule": {"cron": "0 0 * * *", "timezone": "Mars/Olympus"}}, "schedule.timezone"),
    ("past at", {"schedule": {"at": "2001-01-01T00:00:00Z"}}, "schedule.at"),
    ("at now", {"schedule": {"at": format_instant(T0)}}, "schedule.at"),
    ("naive at", {"schedule": {"at": "2031-01-01T00:00:00"}}, "schedule.at"),
    ("two kinds", {"schedule": {"every": "5s", "cron": "* * * * *"}}, "schedule"),
    ("no kind", {"schedule": {}}, "schedule"),
    ("no schedule", {"schedule": None}, "schedule"),
    ("schedule as text", {"schedule": "* * * * *"}, "schedule"),
    ("too often", {"schedule": {"every": "PT0.5S"}}, "schedule.every"),
    ("every as number", {"schedule": {"every": 5}}, "schedule.every"),
    ("ended already", {"schedule": {"cron": "* * * * *", "end_at": "2020-01-01T00:00:00Z"}}, "schedule.end_at"),
    ("year 10000", {"schedule": {"at": "10000-01-01T00:00:00Z"}}, "schedule.at"),
    ("a bool for a number", {"schedule": {"every": "5s", "max_runs": True}}, "schedule.max_runs"),
    ("a float for a number", {"schedule": {"every": "5s", "max_runs": 1.0}}, "schedule.max_runs"),
    ("a text for a number", {"schedule": {"every": "5s", "max_runs": "1e3"}}, "schedule.max_runs"),
    ("2**63 runs", {"schedule": {"every": "5s", "max_runs": 2**63}}, "schedule.max_runs"),
    ("no runs", {"schedule": {"every": "5s", "max_runs": 0}}, "schedule.max_runs"),
    ("unknown member", {"schedule": {"every": "5s", "tz": "UTC"}}, "schedule.tz"),
    ("unknown target", {"target": "nowhere"}, "target"),
    ("target of no kind", {"target": {}}, "target.http"),
    ("target as number", {"target": 7}, "target"),
    ("target without", {"target": None}, "target"),
    ("unknown kind", {"target": {"http": {"url": "http://127.0.0.1:9/"}, "ftp": {}}}, "target.ftp"),
    ("bad url", {"target": {"http": {"url": "file:///etc/passwd"}}}, "target.http.url"),
    ("unknown field", {"shedule": 1}, "shedule"),
    ("payload over 256 KiB", {"payload": "x" * 300_000}, "payload"),
    ("payload just over 256 KiB", {"payload": "x" * (262_144 - 1)}, "payload"),
    ("NUL in the name", {"name": "a\0b"}, "name"),
    ("surrogate in the name", {"name": "a\ud800b"}, "name"),
    ("newline in the name", {"name": "a\nb"}, "name"),
    ("empty name", {"name": ""}, "name"),
    ("long name", {"name": "x" * 201}, "name"),
    ("name as number", {"name": 5}, "name"),
    ("too many attempts", {"retry": {"max_attempts": 2**63}}, "retry.max_attempts"),
    ("no attempts", {"retry": {"max_attempts": 0}}, "retry.max_attempts"),
    ("minus one attempt", {"retry": {"max_attempts": -1}}, "retry.max_attempts"),
    ("bool attempts", {"retry": {"max_attempts": True}}, "retry.max_attempts"),
    ("backoff", {"retry": {"backoff": "linear"}}, "retry.backoff"),
    ("retry order", {"retry": {"initial": "1h", "maximum": "1s"}}, "retry.maximum"),
    ("unknown in retry", {"retry": {"attempts": 3}}, "retry.attempts"),
    ("window", {"window": "1 week"}, "window"),
    ("window too long", {"window": "P2D"}, "window"),
    ("timeout", {"timeout": "PT15M"}, "timeout"),
    ("no timeout", {"timeout": "PT0S"}, "timeout"),
    ("catch up", {"catch_up": {"policy": "all"}}, "catch_up.policy"),
    ("within", {"catch_up": {"within": "-1d"}}, "catch_up.within"),
    ("overlap", {"overlap": "yes"}, "overlap"),
    ("tag value", {"tags": {"team": 1}}, "tags.team"),
    ("tag name", {"tags": {"a:b": "x"}}, "tags.a:b"),
    ("tags as list", {"tags": ["a"]}, "tags"),
    ("too many tags", {"tags": {f"t{n}": "x" for n in range(51)}}, "tags"),
    ("NUL in a tag", {"tags": {"a": "\0"}}, "tags.a"),
    ("paused", {"paused": "no"}, "paused"),
    ("id of one's own", {"id": "job_00000000000000000000000000"}, "id"),
]


def test_a_bad_job_is_refused_by_its_field(client: Client, admin, subtests):
    for name, members, field in BAD_JOBS:
        with subtests.test(name):
            answer = client.post("/v1/jobs", {"schedule": SCHEDULE, "target": "sink", **members})
            assert (answer.status, answer.fields) == (400, [field])

    assert admin.execute("select (select count(*) from job), (select count(*) from due)").fetchone() == (0, 0)


def test_all_that_is_wrong_is_told_at_once(client: Client):
    answer = client.post(
        "/v1/jobs",
        {"schedule": {"cron": "61 * * * *", "timezone": "No/Where"}, "target": "sink", "timeout": "x", "window": "y"},
    )

    assert answer.fields == ["schedule.cron", "schedule.timezone", "window", "timeout"]


PREFIX = '{"schedule": {"every": "1h"}, "target": "sink", "payload": '


def test_a_body_that_comes_as_base64_is_read(client: Client):
    body = json.dumps({"schedule": SCHEDULE, "target": "sink", "payload": "ü"}, ensure_ascii=False)

    answer = client.post("/v1/jobs", raw=base64.b64encode(body.encode()).decode(), base64=True)

    assert answer.json["payload"] == "ü"


LEGAL_PAYLOADS = [
    r'"\\u0000"',
    r'{"a":"\ud83d\ude00"}',
    '"\U0001f600"',
    "9" * 4300,
    '"' + "x" * (262_144 - 2) + '"',
    "[" * 98 + "]" * 98,
]


def test_odd_but_legal_payloads_survive_unchanged(client: Client, subtests):
    for payload in LEGAL_PAYLOADS:
        with subtests.test(payload[:20]):
            answer = client.post("/v1/jobs", raw=PREFIX + payload + "}")

            assert answer.status == 201
            assert f'"payload":{payload},' in answer.text
            assert f'"payload":{payload},' in client.get(f"/v1/jobs/{answer.json['id']}").text


OTHER_BAD_BODIES = [
    ("/v1/schedules/preview", {}, "schedule"),
    ("/v1/schedules/preview", {"schedule": {"cron": "H * * * *"}}, "schedule.cron"),
    ("/v1/schedules/preview", {"schedule": SCHEDULE, "count": PREVIEW_MAX + 1}, "count"),
    ("/v1/schedules/preview", {"schedule": SCHEDULE, "count": True}, "count"),
    ("/v1/schedules/preview", {"schedule": SCHEDULE, "after": "yesterday"}, "after"),
    ("/v1/schedules/preview", {"schedule": SCHEDULE, "after": "2027-01-01T00:00:00"}, "after"),
    ("pause", {"note": 1}, "note"),
    ("pause", {"note": "x" * 501}, "note"),
    ("resume", {"missed": "all"}, "missed"),
    ("trigger", {"paylod": 1}, "paylod"),
    ("trigger", {"payload": "x" * 300_000}, "payload"),
]


def test_other_bad_bodies(client: Client, subtests):
    job = f"/v1/jobs/{client.job()['id']}"
    for path, body, field in OTHER_BAD_BODIES:
        with subtests.test(path, body=str(body)[:40]):
            answer = client.post(path if path.startswith("/") else f"{job}/{path}", body)
            assert (answer.status, answer.fields) == (400, [field])


HEADERS: list[tuple[dict[str, Any], str]] = [
    ({"X-A": "b\r\nX-Injected: 1"}, "X-A"),
    ({"X-A\n": "b"}, "X-A\n"),
    ({"X-A": 1}, "X-A"),
    ({"X-A": None}, "X-A"),
    ({"Host": "internal"}, "Host"),
    ({"Content-Length": "0"}, "Content-Length"),
    ({"Transfer-Encoding": "chunked"}, "Transfer-Encoding"),
    ({"hourbell-attempt": "9"}, "hourbell-attempt"),
    ({"Webhook-Signature": "x"}, "Webhook-Signature"),
    ({"Idempotency-Key": "x"}, "Idempotency-Key"),
    ({"X-A": "caf\u00e9"}, "X-A"),
    ({"X-A": " b"}, "X-A"),
    ({"X-A": "1", "x-a": "2"}, "x-a"),
    ({"": "1"}, ""),
    ({"X A": "1"}, "X A"),
    ({"X-A": "x" * 5_000}, "X-A"),
]


def test_a_bad_header_is_refused_when_the_target_is_made(client: Client, subtests):
    for headers, name in HEADERS:
        http = {"url": "http://127.0.0.1:9/", "headers": headers}
        with subtests.test(name=name, value=str(headers)[:40]):
            named = client.post("/v1/targets", {"name": "bad", "http": http})
            inline = client.post("/v1/jobs", {"schedule": SCHEDULE, "target": {"http": http}})

            assert (named.status, named.fields) == (400, [f"http.headers.{name}"])
            assert (inline.status, inline.fields) == (400, [f"target.http.headers.{name}"])


BAD_TARGETS: list[tuple[dict[str, Any], str]] = [
    ({"name": None}, "name"),
    ({"name": "a\0"}, "name"),
    ({"name": "tgt_01mnj4t0g0g0080002q046mg70"}, "name"),
    ({"http": None}, "http"),
    ({"http": {}}, "http.url"),
    ({"http": {"url": 1}}, "http.url"),
    ({"http": {"url": "https://"}}, "http.url"),
    ({"http": {"url": "http://169.254.169.254/latest"}}, "http.url"),
    ({"http": {"url": "https://example.com", "method": "TRACE"}}, "http.method"),
    ({"http": {"url": "https://example.com", "verify": False}}, "http.verify"),
    ({"http": {"url": "https://example.com", "secret": "a b"}}, "http.secret"),
    ({"http": {"url": "https://example.com", "headers": {f"X-{n}": "1" for n in range(51)}}}, "http.headers"),
    ({"lambda": {"arn": "x"}}, "lambda"),
    ({"rate_per_second": 0}, "rate_per_second"),
    ({"rate_per_second": 1e-300}, "rate_per_second"),
    ({"rate_per_second": True}, "rate_per_second"),
    ({"rate_per_second": 2**63}, "rate_per_second"),
    ({"burst": 2147483648}, "burst"),
    ({"burst": 1.0}, "burst"),
    ({"max_concurrency": "1"}, "max_concurrency"),
    ({"state": "paused"}, "state"),
]


def test_a_bad_target_is_refused_by_its_field(client: Client, subtests):
    for members, field in BAD_TARGETS:
        with subtests.test(field, members=str(members)[:60]):
            answer = client.post("/v1/targets", {"name": "t", "http": {"url": "https://example.com/"}, **members})
            assert (answer.status, answer.fields) == (400, [field])


BAD_QUERIES = [
    ("from=yesterday", "from"),
    ("from=2027-01-02T00:00:00Z&to=2027-01-01T00:00:00Z", "to"),
    ("job=job_nonsense", "job"),
    ("job=run_00000000000000000000000000", "job"),
    ("target=tgt_x", "target"),
    ("state=done", "state"),
    ("limit=-1", "limit"),
    ("target=%00", "target"),
]


def test_a_bad_query_of_runs_is_named(client: Client, subtests):
    for query, field in BAD_QUERIES:
        with subtests.test(query):
            answer = client.get("/v1/runs", raw_query=query)
            assert (answer.status, answer.fields) == (400, [field])
