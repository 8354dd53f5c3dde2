"""The API on a real database, called with the events that API Gateway sends; time is what the test says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import psycopg
import pytest
from hourbell.api.app import Application
from hourbell.api.calls import Api
from hourbell.api.examples import BODIES
from hourbell.api.openapi import openapi_document
from hourbell.api.operations import Operation
from hourbell.api.schemas import REPLIES
from hourbell.cold.objects import ColdObjects
from hourbell.domain.ids import new_id
from hourbell.services.claim_due import claim_shards
from hourbell.services.jobs import Scheduler
from hourbell.store.connection import Database
from hourbell.targets.arns import AllowedTargets, Home
from hourbell.targets.rules import TargetRules
from psycopg.conninfo import make_conninfo

from tests.seeds import T0, RecordingLanes

HORIZON = timedelta(seconds=120)
RULES = TargetRules(
    stage="test",
    home=Home(region="eu-west-1", account="123456789012"),
    allowed=AllowedTargets(("arn:aws:*:eu-west-1:123456789012:*",)),
    private_allowed=True,
)
SCOPES = "admin jobs:read jobs:write runs:write targets:write"


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply as a client sees it."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def fields(self) -> list[str]:
        """The fields that a problem names; also holds the reply against the documented shape of a problem."""
        assert self.headers["content-type"] == "application/problem+json"
        problem = REPLIES["Problem"].model_validate_json(self.text)
        assert problem.status == self.status
        return [error.field for error in problem.errors]


# What the document promises never to be: a mistake of ours, which some tests make on purpose.
BROKEN = 500
DOCUMENTED = [
    (
        method.upper(),
        re.compile(path.replace("{id}", "[^/]+").replace("{name}", r"[\s\S]+")),
        set(map(int, item["responses"])),
    )
    for path, methods in openapi_document()["paths"].items()
    for method, item in methods.items()
]


def documented(method: str, path: str) -> set[int]:
    """The statuses that the document has for the operation behind this path; of no operation's: that there is none."""
    for known, pattern, statuses in DOCUMENTED:
        if known == method and pattern.fullmatch(path):
            return {BROKEN, *statuses}
    return {401, 404}


@dataclass(slots=True)
class Client:
    """Calls the API as one tenant."""

    application: Application
    tenant_id: UUID
    now: datetime = T0
    scopes: str = SCOPES
    headers: dict[str, str] = field(default_factory=dict)
    context: dict[str, str] = field(default_factory=dict)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: str | None = None,
        base64: bool = False,
        query: dict[str, Any] | None = None,
        raw_query: str = "",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        event = gateway_event(
            method,
            path,
            body=raw if raw is not None else (None if body is None else json.dumps(body)),
            base64=base64,
            query=urlencode(query, doseq=True) if query else raw_query,
            headers={**self.headers, **(headers or {})},
            caller={
                "tenant_id": str(self.tenant_id),
                "key_id": str(self.tenant_id),
                "scopes": self.scopes,
                **self.context,
            },
        )
        reply = self.application.handle(event, None, now=self.now)
        assert isinstance(reply["body"], str)
        answer = Answer(
            reply["statusCode"],
            {name.lower(): value for name, value in reply["headers"].items()},
            reply["body"],
        )
        assert answer.status in documented(method, path), answer.text
        return answer

    def get(self, path: str, **options: Any) -> Answer:
        return self.call("GET", path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> Answer:
        return self.call("POST", path, body, **options)

    def patch(self, path: str, body: Any = None, **options: Any) -> Answer:
        return self.call("PATCH", path, body, **options)

    def delete(self, path: str, **options: Any) -> Answer:
        return self.call("DELETE", path, **options)

    def target(self, name: str = "sink", **members: Any) -> dict[str, Any]:
        """A created target."""
        answer = self.post("/v1/targets", {"name": name, "http": {"url": "http://127.0.0.1:9/"}, **members})
        assert answer.status == 201, answer.text
        return answer.json

    def job(self, schedule: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
        """A created job."""
        answer = self.post("/v1/jobs", {"schedule": schedule or {"every": "1h"}, "target": "sink", **members})
        assert answer.status == 201, answer.text
        return answer.json


def gateway_event(
    method: str,
    path: str,
    *,
    body: str | None,
    base64: bool = False,
    query: str = "",
    headers: dict[str, str] | None = None,
    caller: dict[str, str] | None = None,
) -> dict[str, Any]:
    """An event of payload format 2.0, as API Gateway builds it."""
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": "ANY /{proxy+}",
        "rawPath": path,
        "rawQueryString": query,
        "headers": {"content-type": "application/json", **(headers or {})},
        "requestContext": {
            "http": {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1"},
            "stage": "$default",
            "requestId": "request-1",
        },
        "isBase64Encoded": base64,
    }
    if body is not None:
        event["body"] = body
    if caller is not None:
        event["requestContext"]["authorizer"] = {"lambda": caller}
    return event


def wait_for_a_waiter(connection: psycopg.Connection[Any]) -> None:
    """Until somebody waits for a lock in this database; seen from within the transaction that holds it."""
    waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    while connection.execute(waiting).fetchone() == (0,):
        connection.execute("select pg_stat_clear_snapshot()")


@pytest.fixture
def lanes() -> RecordingLanes:
    return RecordingLanes()


@pytest.fixture
def database(postgres, database_name) -> Iterator[Database]:
    """As the API's own role: what it is not granted fails here."""
    opened = Database(postgres.conninfo(database=database_name, user="hourbell_api"))
    yield opened
    opened.close()


@pytest.fixture
def authorizer(postgres, database_name) -> Iterator[Database]:
    opened = Database(postgres.conninfo(database=database_name, user="hourbell_authorizer"))
    yield opened
    opened.close()


@pytest.fixture
def admin(conninfo: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        yield connection


def no_s3() -> Any:
    raise AssertionError("S3 was read for a job that is not in a segment")


@pytest.fixture
def objects() -> ColdObjects:
    """The cold tier without its segments: the intake is in the database."""
    return ColdObjects(bucket="none", client=no_s3)


@pytest.fixture
def metrics() -> list[Mapping[str, float]]:
    """What the API counts."""
    return []


@pytest.fixture
def application(
    database: Database, lanes: RecordingLanes, objects: ColdObjects, metrics: list[Mapping[str, float]]
) -> Application:
    scheduler = Scheduler(database=database, lanes=lanes, horizon=HORIZON, cold=objects)
    return Application(
        Api(
            scheduler=scheduler,
            stage_key=lambda: b"stage secret",
            target_rules=lambda: RULES,
            pause=lambda _seconds: None,
            count=metrics.append,
        )
    )


def path_of(client: Client, operation: Operation) -> str:
    """The operation's path, with the id of something of the client's own that it is about."""
    if "{name}" in operation.path:
        return operation.path.replace("{name}", BODIES["JobIn"]["name"])
    if "{id}" not in operation.path:
        return operation.path
    return operation.path.replace("{id}", _own_id(client, operation))


def _own_id(client: Client, operation: Operation) -> str:
    match resource := operation.path.split("/")[2]:
        case "jobs":
            return client.job()["id"]
        case "runs":
            return client.post(f"/v1/jobs/{client.job()['id']}/trigger").json["id"]
        case "targets":
            return client.get("/v1/targets").json["items"][0]["id"]
        case "keys":
            return client.post("/v1/keys", {"name": "ci", "scopes": ["jobs:read"]}).json["id"]
        case "tenants":
            return client.post("/v1/tenants", {"name": operation.name}).json["id"]
    raise AssertionError(f"what has an id under {resource}?")


def scan(client: Client, now: datetime) -> None:
    """A scan of the client's database, by the scanner's own role."""
    conninfo = make_conninfo(client.application._api.scheduler.database._conninfo, user="hourbell_scanner")
    with closing(Database(conninfo)) as database:
        database.run(
            lambda connection: claim_shards(
                connection, first_shard=0, last_shard=127, now=now, horizon=HORIZON, per_shard=100
            )
        )


def new_tenant(admin: psycopg.Connection[Any], name: str) -> UUID:
    tenant_id = new_id(T0)
    admin.execute("insert into tenant (tenant_id, name) values (%s, %s)", (tenant_id, name))
    return tenant_id


@pytest.fixture
def bare(application: Application, admin) -> Client:
    """A client of a tenant that has nothing yet."""
    return Client(application, new_tenant(admin, "acme"))


@pytest.fixture
def client(bare: Client) -> Client:
    """A client of a tenant that has the target ``sink``."""
    bare.target()
    return bare


@pytest.fixture
def stranger(application: Application, admin) -> Client:
    """A client of another tenant."""
    return Client(application, new_tenant(admin, "globex"))
