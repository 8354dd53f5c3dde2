"""Keys, scopes and the wall between tenants."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import product

import psycopg
import pytest
from hourbell.api.app import OPERATIONS
from hourbell.domain.ids import encode, run_id
from hourbell.services.authenticate import Principal, authenticate
from hourbell.services.tenants import create_api_key

from tests.integration.api.conftest import Client, gateway_event
from tests.seeds import T0

UNKNOWN = "01mnj4t0g0g0080002q046mg70"
TOKEN = {"lease_token": "01a5644d-0200-7f5b-b1a9-252525252525"}
BODIES: dict[str, dict[str, str]] = {
    **{f"/v1/runs/{{id}}/{act}": TOKEN for act in ("heartbeat", "complete", "fail")},
    "/v1/jobs/{id}/backfill": {"from": "2027-05-09T09:00:00Z", "to": "2027-05-09T12:00:00Z"},
}
ID_CALLS = [
    (operation.method, operation.path)
    for operation in OPERATIONS
    if "{id}" in operation.path and operation.scope != "operator"
]


def own_id(client: Client, path: str) -> str:
    """The id of a thing of this client that the path is about."""
    if path.startswith("/v1/keys"):
        return client.post("/v1/keys", {"name": "ci", "scopes": ["jobs:read"]}).json["id"]
    if path.startswith("/v1/targets"):
        return client.get("/v1/targets").json["items"][0]["id"]
    job = client.job({"at": "2027-05-09T12:00:30.000Z"})
    if path.startswith("/v1/jobs"):
        return job["id"]
    return client.get(f"/v1/jobs/{job['id']}/runs", query={"state": "queued"}).json["items"][0]["id"]


def test_another_tenants_id_is_as_unknown_as_any(client: Client, stranger: Client, admin, subtests):
    for method, path in ID_CALLS:
        with subtests.test(method=method, path=path):
            _is_unknown_to(stranger, client, admin, method, path)


def _is_unknown_to(stranger: Client, client: Client, admin, method: str, path: str):
    theirs = own_id(client, path)
    prefix = theirs.split("_")[0]
    body = BODIES.get(path, {}) if method in ("POST", "PATCH") else None
    before = admin.execute("select state, version from job union all select state, version from target").fetchall()

    answers = [
        stranger.call(method, path.replace("{id}", wanted), body)
        for wanted in (
            theirs,
            f"{prefix}_{UNKNOWN}",
            f"{prefix}_00000000000000000000000000",
            f"{prefix}_nonsense",
            theirs.upper(),
            theirs.split("_")[1],
            "{01a5644d-0200-7f5b-b1a9-252525252525}",
            "urn:uuid:01a5644d-0200-7f5b-b1a9-252525252525",
            "x" * 5_000,
        )
    ]

    assert {(answer.status, answer.text, tuple(sorted(answer.headers.items()))) for answer in answers} == {
        (404, answers[0].text, tuple(sorted(answers[0].headers.items())))
    }
    assert (
        admin.execute("select state, version from job union all select state, version from target").fetchall() == before
    )


def test_another_tenants_id_takes_the_statements_that_an_unknown_one_takes(client: Client, stranger: Client, subtests):
    """So that neither takes longer. Statements are compared, and how many rows each answered."""
    for method, path in ID_CALLS:
        theirs = own_id(client, path)
        prefix, body = theirs.split("_")[0], BODIES.get(path, {}) if method in ("POST", "PATCH") else None
        done = []
        for wanted in (theirs, f"{prefix}_{UNKNOWN}"):
            with statements() as seen:
                assert stranger.call(method, path.replace("{id}", wanted), body).status == 404
            done.append(seen)

        with subtests.test(method=method, path=path):
            assert done[0] == done[1]
            assert done[0]


@contextmanager
def statements() -> Iterator[list[tuple[object, int]]]:
    """What is executed meanwhile."""
    seen: list[tuple[object, int]] = []
    execute = psycopg.Connection.execute

    def noted(self, statement, *values, **options):
        cursor = execute(self, statement, *values, **options)
        seen.append((statement, cursor.rowcount))
        return cursor

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg.Connection, "execute", noted)
        yield seen


def test_lists_and_names_stop_at_the_wall(client: Client, stranger: Client):
    target = client.get("/v1/targets").json["items"][0]
    job = client.job({"at": "2027-05-09T12:00:30.000Z"}, name="theirs", tags={"a": "b"})

    for path in ("/v1/jobs", "/v1/targets", "/v1/runs"):
        assert stranger.get(path).json == {"items": [], "next_cursor": None}
    assert stranger.get("/v1/jobs", query={"target": target["id"]}).json["items"] == []
    assert stranger.get("/v1/runs", query={"job": job["id"]}).json["items"] == []
    refused = stranger.post("/v1/jobs", {"schedule": {"every": "1h"}, "target": "sink"})
    assert refused.fields == ["target"]


def test_each_operation_asks_for_its_scope(client: Client, subtests):
    for operation in OPERATIONS:
        with subtests.test(operation=operation.name):
            _asks_for_its_scope(client, operation)


def _asks_for_its_scope(client: Client, operation):
    path = operation.path.replace("{id}", f"job_{UNKNOWN}")
    client.scopes = "jobs:read jobs:write runs:write targets:write".replace(str(operation.scope), "")

    without = client.call(operation.method, path)
    client.scopes = str(operation.scope)
    with_it = client.call(operation.method, path)
    client.scopes = "admin"
    as_admin = client.call(operation.method, path)

    assert without.status == (200 if operation.scope is None else 403)
    assert with_it.status not in (401, 403)
    assert (as_admin.status == 403) == (operation.scope == "operator")
    assert as_admin.status != 401
    if operation.scope is not None:
        assert without.fields == []
        assert operation.scope in without.json["detail"]


def test_without_a_tenant_only_the_open_operations_answer(client: Client, subtests):
    for operation, caller in product(OPERATIONS, (None, {}, {"tenant_id": ""})):
        event = gateway_event(operation.method, operation.path.replace("{id}", "x"), body=None, caller=caller)

        reply = client.application.handle(event, None, now=T0)

        with subtests.test(operation=operation.name, caller=caller):
            assert reply["statusCode"] == (200 if operation.scope is None else 401)


def test_an_unknown_route_tells_a_stranger_nothing(client: Client):
    for caller, status in (
        (None, 401),
        ({"tenant_id": str(client.tenant_id), "key_id": str(client.tenant_id), "scopes": ""}, 404),
    ):
        for method, path in (("GET", "/v1/jobs/../../etc"), ("PUT", "/v1/jobs"), ("GET", "/"), ("GET", "/v2/jobs")):
            event = gateway_event(method, path, body=None, caller=caller)
            reply = client.application.handle(event, None, now=T0)
            assert (reply["statusCode"], reply["headers"]["Content-Type"]) == (status, "application/problem+json")


def test_a_key_opens_its_tenant_until_it_ends(client: Client, conninfo, authorizer, admin):
    from hourbell.store.connection import Database

    administrator = Database(conninfo)
    key = create_api_key(administrator, client.tenant_id, name="ci", now=T0, scopes=["jobs:read"])
    administrator.close()

    def caller(header: str | None, now=T0):
        return authenticate(authorizer, header, now=now)

    found = caller(f"Bearer {key.secret}")
    assert found is not None
    assert (found.tenant_id, found.key_id, found.scopes) == (client.tenant_id, key.key_id, {"jobs:read"})
    assert Principal.from_context(found.context()) == found
    assert caller(f"bearer  {key.secret}") == found
    for header in (
        None,
        "",
        "Bearer",
        "Bearer hb_live_nonsense",
        key.secret,
        f"Basic {key.secret}",
        f"Bearer {key.secret} ",
        f"Bearer {key.secret}\0",
        "Bearer hb_" + "x" * 300,
        f"Bearer {key.secret}é",
    ):
        assert caller(header) is None

    admin.execute("update api_key set expires_at = %s", (T0 + timedelta(hours=1),))
    assert caller(f"Bearer {key.secret}") == found
    assert caller(f"Bearer {key.secret}", T0 + timedelta(hours=1)) is None
    admin.execute("update api_key set expires_at = null, revoked_at = %s", (T0,))
    assert caller(f"Bearer {key.secret}") is None


def test_equal_destinations_of_two_tenants_are_two_targets(client: Client, stranger: Client, admin):
    body = {"schedule": {"every": "1h"}, "target": {"http": {"url": "http://127.0.0.1:9/x"}}}

    assert [one.post("/v1/jobs", body).status for one in (client, stranger)] == [201, 201]

    rows = admin.execute("select tenant_id from target where name is null").fetchall()
    assert sorted(row[0] for row in rows) == sorted([client.tenant_id, stranger.tenant_id])


def test_run_ids_can_be_computed_by_anyone_and_still_open_nothing(client: Client, stranger: Client):
    from hourbell.domain.ids import decode

    job = client.job({"at": "2027-05-09T12:00:30.000Z"})
    run = encode("run", run_id(decode("job", job["id"]), T0 + timedelta(seconds=30)))

    assert client.get(f"/v1/runs/{run}").status == 200
    assert stranger.get(f"/v1/runs/{run}").status == 404
