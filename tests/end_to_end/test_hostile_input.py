"""Every case of tests/cases/security.json, sent to the deployed stack: through gateway, authorizer and Lambda."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest
from hourbell.api.cursors import Cursors, Listing
from hourbell.client import ApiError, Client
from hourbell.domain.ids import decode
from hourbell.local.aws import lambda_client, session
from hourbell.local.state import Cloud
from hourbell.services.tenants import create_api_key, create_tenant
from hourbell.store.connection import Database

from tests.end_to_end.bells import until
from tests.end_to_end.sink import Sink

pytestmark = pytest.mark.end_to_end
logger = logging.getLogger(__name__)

CASES: dict[str, Any] = {
    case["id"]: case["input"]
    for case in json.loads((Path(__file__).parents[1] / "cases" / "security.json").read_text(encoding="utf-8"))["cases"]
}
HOURLY = {"schedule": {"every": "1h"}, "target": {"http": {"url": "http://127.0.0.1:9/"}}}
UNKNOWN = {"jobs": "job_01h455vb4pex5vsknk084sn02q", "runs": "run_01h455vb4pex5vsknk084sn02q"}
LOCAL_NAMES = ("HTTP://LOCALHOST/", "http://localhost./")  # the local stage calls its own machine


@dataclass(slots=True)
class Caller:
    """One key's requests to the stack, to the letter."""

    http: httpx.Client
    key_id: str
    tenant_id: UUID
    made: list[str] = field(default_factory=list)

    def send(
        self, method: str, path: str, *, body: Any = None, raw: str | None = None, **headers: str
    ) -> httpx.Response:
        content = raw if raw is not None else None if body is None else json.dumps(body)
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self.http.request(method, path, content=content, headers={"content-type": "application/json", **names})
        logger.info("%s %s %s → %s", method, path[:90], (content or "")[:160], answer.status_code)
        assert answer.status_code < 500, answer.text
        if answer.status_code == 201 and path == "/v1/jobs":
            self.made.append(answer.json()["id"])
        return answer

    def refused(self, method: str, path: str, *fields: str, body: Any = None, raw: str | None = None) -> None:
        """The stack names what is wrong."""
        answer = self.send(method, path, body=body, raw=raw)
        assert answer.status_code == 400, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert [error["field"] for error in answer.json()["errors"]] == list(fields), answer.text

    def job(self, **members: Any) -> str:
        answer = self.send("POST", "/v1/jobs", body={**HOURLY, **members})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    cloud: Cloud
    client: Client
    sink: Sink
    us: Caller
    them: Caller


@contextmanager
def caller(cloud: Cloud, tenant: str) -> Iterator[Caller]:
    database, now = Database(cloud.database), datetime.now(UTC)
    tenant_id = create_tenant(database, tenant, now=now)
    key = create_api_key(database, tenant_id, name="hostile", now=now)
    database.close()
    authorization = {"authorization": f"Bearer {key.secret}"}
    with httpx.Client(base_url=cloud.url, headers=authorization, timeout=30, trust_env=False) as http:
        opened = Caller(http=http, key_id=key.key_id.hex, tenant_id=tenant_id)
        yield opened
        for job_id in opened.made:
            http.delete(f"/v1/jobs/{job_id}")


@pytest.fixture(scope="module")
def stack(local_cloud: Cloud, client: Client, sink: Sink) -> Iterator[Stack]:
    with caller(local_cloud, "hostile") as us, caller(local_cloud, "victim") as them:
        yield Stack(cloud=local_cloud, client=client, sink=sink, us=us, them=them)


def with_url(url: str) -> dict[str, Any]:
    return {**HOURLY, "target": {"http": {"url": url}}}


def never_connects(stack: Stack, urls: list[str]) -> None:
    for url in urls:
        if url not in LOCAL_NAMES:
            stack.us.refused("POST", "/v1/jobs", "target.http.url", body=with_url(url))


def e03(stack: Stack) -> None:
    hosts = CASES["E03"]["hosts"]
    never_connects(stack, [f"http://[{host}]/" if ":" in host else f"http://{host}/" for host in hosts])


def e04(stack: Stack) -> None:
    """A name is looked up when it is called: one without an address fails, another is called by its own name."""
    place = stack.sink.place("pinned")
    url = place.url.replace("127.0.0.1", "localhost")
    once = {"max_attempts": 1}
    found, lost = stack.us.job(**with_url(url), retry=once), stack.us.job(**with_url("http://a.invalid/"), retry=once)
    runs = [stack.us.send("POST", f"/v1/jobs/{job_id}/trigger").json()["id"] for job_id in (found, lost)]

    (call,) = place.wait(1, seconds=20)
    assert call.headers["host"] == f"localhost:{stack.sink.port}"

    def state(run_id: str) -> str:
        return str(stack.us.send("GET", f"/v1/runs/{run_id}").json()["state"])

    assert until(lambda: [state(run_id) for run_id in runs] == ["succeeded", "dead"], seconds=20)
    (attempt,) = stack.us.send("GET", f"/v1/runs/{runs[1]}").json()["attempts"]
    assert attempt["status_code"] is None
    assert "a.invalid" in attempt["error"] or "resolve" in attempt["error"], attempt


def e08(stack: Stack) -> None:
    for headers in CASES["E08"]["headers"]:
        answer = stack.us.send(
            "POST", "/v1/jobs", body={**HOURLY, "target": {"http": {"url": "http://127.0.0.1:9/", "headers": headers}}}
        )
        assert answer.status_code == 400
        assert all(error["field"].startswith("target.http.headers") for error in answer.json()["errors"])


def raw_job(payload: str) -> str:
    return json.dumps({**HOURLY, "payload": "@"}).replace('"@"', payload)


def survives(stack: Stack, payload: str) -> None:
    answer = stack.us.send("POST", "/v1/jobs", raw=raw_job(payload))
    assert answer.status_code == 201
    kept = stack.us.send("GET", f"/v1/jobs/{answer.json()['id']}").json()["payload"]
    assert kept == json.loads(payload)


def e09(stack: Stack) -> None:
    nul, nul_in_a_key, backslash = CASES["E09"]["payload"]
    stack.us.refused("POST", "/v1/jobs", "payload.a", raw=raw_job(nul))
    stack.us.refused("POST", "/v1/jobs", "payload", raw=raw_job(nul_in_a_key))
    survives(stack, backslash)


def e10(stack: Stack) -> None:
    *lone, pair = CASES["E10"]["payload"]
    for payload in lone:
        stack.us.refused("POST", "/v1/jobs", "payload.a", raw=raw_job(payload))
    survives(stack, pair)


def e13(stack: Stack) -> None:
    for payload in CASES["E13"]["payload"]:
        stack.us.refused("POST", "/v1/jobs", "payload.a", raw=raw_job(payload))


def e16(stack: Stack) -> None:
    for value in CASES["E16"]["values"]:
        number = "9" * 4301 if value == "4301 digits" else json.dumps(value)
        body = json.dumps({**HOURLY, "retry": {"max_attempts": "@"}}).replace('"@"', number)
        stack.us.refused("POST", "/v1/jobs", "retry.max_attempts", raw=body)
        if value != 1.0:
            stack.us.refused("GET", f"/v1/jobs?limit={number.strip(chr(34))}", "limit")
        assert stack.us.send("GET", f"/v1/jobs/{number[:500]}").status_code == 404


def e17(stack: Stack) -> None:
    us, key, body = stack.us, secrets.token_hex(8), {**HOURLY, "name": secrets.token_hex(8)}
    first = us.send("POST", "/v1/jobs", body=body, idempotency_key=key)
    again = us.send("POST", "/v1/jobs", body=body, idempotency_key=key)
    assert {(answer.status_code, answer.json()["id"]) for answer in (first, again)} == {(201, first.json()["id"])}
    assert again.headers["idempotency-replayed"] == "true"
    other_body = us.send("POST", "/v1/jobs", body={**body, "payload": 1}, idempotency_key=key)
    other_path = us.send("POST", f"/v1/jobs/{first.json()['id']}/trigger", body={}, idempotency_key=key)
    spelled = us.send("POST", "/v1/jobs", raw=json.dumps(body, indent=3), idempotency_key=key)  # to the letter: docs
    assert [answer.status_code for answer in (other_body, other_path, spelled)] == [422] * 3
    assert stack.them.send("POST", "/v1/jobs", body=body, idempotency_key=key).json()["id"] != first.json()["id"]

    together = {**HOURLY, "name": secrets.token_hex(8)}
    key = secrets.token_hex(8)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: us.send("POST", "/v1/jobs", body=together, idempotency_key=key), range(8)))
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert len({answer.json()["id"] for answer in answers if answer.status_code == 201}) == 1
    assert len(us.send("GET", f"/v1/jobs?name={together['name']}").json()["items"]) == 1
    _after_a_500(stack)


def _after_a_500(stack: Stack) -> None:
    """What the stack could not do is not remembered as its answer."""
    body, headers = {**HOURLY, "name": secrets.token_hex(8)}, {"idempotency-key": secrets.token_hex(8)}
    with psycopg.connect(stack.cloud.database, autocommit=True) as owner:
        owner.execute("revoke insert on job from hourbell_api")
        try:
            failed = stack.us.http.post("/v1/jobs", json=body, headers=headers)
        finally:
            owner.execute("grant insert on job to hourbell_api")
    logger.info("POST /v1/jobs while the database refuses → %s %s", failed.status_code, failed.text)
    assert (failed.status_code, failed.json()["detail"]) == (500, "something went wrong on our side")
    retried = stack.us.send("POST", "/v1/jobs", body=body, idempotency_key=headers["idempotency-key"])
    assert retried.status_code == 201
    assert "idempotency-replayed" not in retried.headers


def e18(stack: Stack) -> None:
    us, them = stack.us, stack.them
    for who in (us, them):
        for _ in range(3):
            who.job(tags={"a": "b"})

    def cursor(who: Caller, path: str) -> str:
        return str(who.send("GET", path).json()["next_cursor"])

    good, foreign = cursor(us, "/v1/jobs?limit=1"), cursor(them, "/v1/jobs?limit=1")
    other_filter = cursor(us, "/v1/jobs?limit=1&tag=a:b")
    edited = good[:-2] + ("A" if good[-2] != "A" else "B") + good[-1]
    for bad in ("garbage", edited, foreign, other_filter, _issued(stack, hours=25)):
        us.refused("GET", f"/v1/jobs?cursor={bad}", "cursor")
    us.refused("GET", f"/v1/runs?cursor={good}", "cursor")
    assert us.send("GET", f"/v1/jobs?cursor={good}").status_code == 200
    us.refused("GET", f"/v1/keys?cursor={_issued(stack, hours=25)}", "cursor")
    assert us.send("GET", f"/v1/keys?cursor={_issued(stack, hours=23)}").status_code == 200


def _issued(stack: Stack, *, hours: float) -> str:
    """A cursor of the keys, as the stack issued it so long ago: signed with its own secret."""
    variables = lambda_client(stack.cloud.endpoint).get_function_configuration(FunctionName="hourbell-local-api")
    (name,) = [value for key, value in variables["Environment"]["Variables"].items() if key.endswith("SIGNING_SECRET")]
    manager = session().client("secretsmanager", endpoint_url=stack.cloud.endpoint)
    secret = manager.get_secret_value(SecretId=name)["SecretString"].encode()
    listing = Listing(name="keys", tenant_id=stack.us.tenant_id, filters={})
    issued_at = datetime.now(UTC) - timedelta(hours=hours)
    return Cursors(lambda: secret).issue(listing, [stack.us.key_id], now=issued_at)


def e19(stack: Stack) -> None:
    job_id = stack.them.job()
    run_id = str(stack.them.send("POST", f"/v1/jobs/{job_id}/trigger").json()["id"])
    lease = {"lease_token": "00000000-0000-4000-8000-000000000000"}
    calls: list[tuple[str, str, str, Any]] = [
        *((method, "jobs", "", {"payload": 1} if method == "PATCH" else None) for method in ("GET", "PATCH", "DELETE")),
        *(("POST", "jobs", f"/{act}", None) for act in ("trigger", "pause", "resume", "skip-next")),
        *(("GET", "jobs", f"/{what}", None) for what in ("runs", "upcoming", "missed", "audit")),
        ("GET", "runs", "", None),
        ("POST", "runs", "/retry", None),
        ("POST", "runs", "/cancel", None),
        ("POST", "runs", "/heartbeat", lease),
        ("POST", "runs", "/complete", lease),
        ("POST", "runs", "/fail", {**lease, "error": "x"}),
    ]
    for method, kind, rest, body in calls:
        theirs = {"jobs": job_id, "runs": run_id}[kind]
        answers = [stack.us.send(method, f"/v1/{kind}/{one}{rest}", body=body) for one in (theirs, UNKNOWN[kind])]
        assert {answer.status_code for answer in answers} <= {404, 409}, answers[0].text
        assert answers[0].text == answers[1].text
    number = decode("job", job_id)
    for odd in (str(number), f"{{{number}}}", number.urn, number.hex, job_id.upper(), f"job_{number.hex}"):
        assert stack.them.send("GET", f"/v1/jobs/{odd}").status_code == 404  # an id has one spelling, its owner's too
    assert stack.them.send("GET", f"/v1/jobs/{job_id}").json()["state"] == "active"


WALKED: dict[str, Callable[[Stack], None]] = {
    "E01": lambda stack: never_connects(stack, CASES["E01"]["urls"]),
    "E03": e03,
    "E04": e04,
    "E06": lambda stack: never_connects(stack, CASES["E06"]["urls"]),
    "E07": lambda stack: never_connects(stack, CASES["E07"]["urls"]),
    "E08": e08,
    "E09": e09,
    "E10": e10,
    "E13": e13,
    "E16": e16,
    "E17": e17,
    "E18": e18,
    "E19": e19,
}


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_client_of_the_stack_gets_what_the_case_says(stack: Stack, case: str):
    WALKED[case](stack)


def test_the_old_secret_of_a_rotated_key_manages_no_keys_on_the_stack(stack: Stack, client: Client):
    key = client.create_key("rotated", ["admin"])
    with Client(stack.cloud.url, str(key["secret"])) as thief:
        assert thief.list_jobs()["items"] is not None  # the authorizer's answer is kept from here on
        new = client.rotate_key(key["id"], grace="1h")
        with pytest.raises(ApiError) as refused:
            thief.rotate_key(key["id"], force=True)
        assert (refused.value.status, refused.value.kind) == (403, "old-secret")
        thief.list_jobs()
    with Client(stack.cloud.url, str(new["secret"])) as owner, pytest.raises(ApiError) as twice:
        owner.rotate_key(key["id"])
    assert (twice.value.status, twice.value.kind) == (409, "state")
    client.revoke_key(key["id"])
