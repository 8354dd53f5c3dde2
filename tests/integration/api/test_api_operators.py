"""Tenants as operators make and limit them, and as nobody else sees them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hourbell.domain.ids import decode, encode
from hourbell.domain.quotas import DEFAULT_QUOTAS
from hourbell.services.authenticate import authenticate
from hourbell.services.tenants import SCOPES

from tests.integration.api.conftest import SCOPES as TENANT_SCOPES
from tests.integration.api.conftest import Client
from tests.seeds import T0

DEFAULTS = {
    "max_jobs": DEFAULT_QUOTAS.max_jobs,
    "max_runs_per_minute": DEFAULT_QUOTAS.max_runs_per_minute,
    "max_requests_per_second": DEFAULT_QUOTAS.max_requests_per_second,
}


@pytest.fixture
def operator(client: Client) -> Client:
    client.scopes = f"{TENANT_SCOPES} operator"
    return client


def test_a_tenant_begins_with_generous_quotas_and_one_key(operator: Client, authorizer):
    made = operator.post("/v1/tenants", {"name": "globex"})

    assert made.status == 201
    assert made.json["quotas"] == DEFAULTS
    assert made.json["jobs"] == 0
    principal = authenticate(authorizer, f"Bearer {made.json['key']['secret']}", now=T0)
    assert principal is not None
    assert principal.tenant_id == decode("ten", made.json["id"])
    assert principal.scopes == set(SCOPES)
    assert principal.max_requests_per_second == DEFAULTS["max_requests_per_second"]


def test_the_key_of_a_new_tenant_is_shown_once(operator: Client):
    once = {"headers": {"idempotency-key": "k"}}
    first = operator.post("/v1/tenants", {"name": "globex"}, **once)
    again = operator.post("/v1/tenants", {"name": "globex"}, **once)

    assert first.json["key"]["secret"].startswith("hb_live_")
    assert again.json == {**first.json, "key": {**first.json["key"], "secret": None}}


def test_a_name_is_one_tenants(operator: Client):
    operator.post("/v1/tenants", {"name": "globex"})

    assert operator.post("/v1/tenants", {"name": "globex"}).fields == ["name"]


def test_quotas_are_merged_and_null_is_no_limit(operator: Client):
    made = operator.post("/v1/tenants", {"name": "globex", "quotas": {"max_jobs": None, "max_runs_per_minute": 5}})
    assert made.json["quotas"] == {**DEFAULTS, "max_jobs": None, "max_runs_per_minute": 5}

    path = f"/v1/tenants/{made.json['id']}"
    edited = operator.patch(path, {"quotas": {"max_jobs": 7, "max_runs_per_minute": None}})

    assert edited.json["quotas"] == {**DEFAULTS, "max_jobs": 7, "max_runs_per_minute": None}
    assert operator.get(path).json == edited.json
    assert edited.headers["etag"] == '"2"'
    assert operator.patch(path, {"quotas": {}}, headers={"if-match": '"1"'}).status == 412


def test_a_change_of_quotas_is_in_the_audit_of_the_tenant(operator: Client):
    made = operator.post("/v1/tenants", {"name": "globex", "quotas": {"max_jobs": 1}})
    operator.now += timedelta(seconds=1)
    operator.patch(f"/v1/tenants/{made.json['id']}", {"quotas": {"max_jobs": 2}})

    theirs = Client(operator.application, decode("ten", made.json["id"]))
    changed, created = theirs.get("/v1/audit").json["items"]
    assert (created["action"], changed["action"]) == ("created", "quota_changed")
    assert changed["changes"] == [{"field": "max_jobs", "old": "1", "new": "2"}]
    assert "quota_changed" not in [one["action"] for one in operator.get("/v1/audit").json["items"]]


@pytest.mark.parametrize(
    ("quotas", "field"),
    [
        ({"max_jobs": -1}, "quotas.max_jobs"),
        ({"max_jobs": True}, "quotas.max_jobs"),
        ({"max_jobs": 2**63}, "quotas.max_jobs"),
        ({"max_runs_per_minute": 0}, "quotas.max_runs_per_minute"),
        ({"max_requests_per_second": 0.5}, "quotas.max_requests_per_second"),
        ({"max_dreams": 1}, "quotas.max_dreams"),
        (7, "quotas"),
    ],
)
def test_a_bad_quota_is_named(operator: Client, quotas, field: str):
    own = encode("ten", operator.tenant_id)

    assert operator.post("/v1/tenants", {"name": "globex", "quotas": quotas}).fields == [field]
    assert operator.patch(f"/v1/tenants/{own}", {"quotas": quotas}).fields == [field]


def test_tenants_are_listed_with_how_many_jobs_they_have(operator: Client, stranger: Client):
    operator.job()
    paused = operator.job()
    operator.post(f"/v1/jobs/{paused['id']}/pause", {})
    operator.delete(f"/v1/jobs/{operator.job()['id']}")

    page = operator.get("/v1/tenants", query={"limit": 1})
    both = page.json["items"] + operator.get("/v1/tenants", query={"cursor": page.json["next_cursor"]}).json["items"]

    jobs = {one["id"]: one["jobs"] for one in both}
    assert jobs == {encode("ten", operator.tenant_id): 2, encode("ten", stranger.tenant_id): 0}
    (found,) = operator.get("/v1/tenants", query={"name": "acme"}).json["items"]
    assert found["id"] == encode("ten", operator.tenant_id)


def test_an_operator_sees_no_job_of_another_tenant(operator: Client, stranger: Client):
    stranger.target()
    theirs = stranger.job()

    assert operator.get(f"/v1/jobs/{theirs['id']}").status == 404
    assert operator.get("/v1/jobs").json["items"] == []


def test_a_tenants_own_admin_is_no_operator_and_cannot_become_one(client: Client, stranger: Client):
    for scopes in ("admin", TENANT_SCOPES):
        client.scopes = scopes
        path = f"/v1/tenants/{encode('ten', stranger.tenant_id)}"
        assert client.get("/v1/tenants").status == 403
        assert client.get(path).status == 403
        assert client.patch(path, {"quotas": {"max_jobs": 0}}).status == 403
        assert client.post("/v1/tenants", {"name": "mine"}).status == 403
        assert client.post("/v1/keys", {"name": "up", "scopes": ["operator"]}).fields == ["scopes"]


def test_a_tenants_admin_cannot_take_over_an_operators_key(client: Client):
    client.scopes = "admin operator"
    operators = client.post("/v1/keys", {"name": "operator", "scopes": ["operator"]}).json["id"]
    client.scopes = "admin"

    assert client.post(f"/v1/keys/{operators}/rotate", {}).status == 409
    assert client.delete(f"/v1/keys/{operators}").status == 409


def test_unknown_tenants_are_unknown(operator: Client):
    for wanted in ("ten_01mnj4t0g0g0080002q046mg70", "ten_x", "job_01mnj4t0g0g0080002q046mg70"):
        assert operator.get(f"/v1/tenants/{wanted}").status == 404
        assert operator.patch(f"/v1/tenants/{wanted}", {}).status == 404
