"""The two Lambda functions themselves, wired from their environment."""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest
from hourbell.services.tenants import create_api_key, create_tenant
from hourbell.store.connection import Database

from tests.integration.api.conftest import gateway_event
from tests.seeds import T0

FUNCTIONS = Path(__file__).parents[3] / "functions"


def load(name: str):
    spec = importlib.util.spec_from_file_location(f"handler_{name}", FUNCTIONS / name / "handler.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def environment(monkeypatch, postgres, database_name):
    for name, value in {
        "STAGE": "test",
        "DATABASE": postgres.conninfo(database=database_name, user="hourbell_api"),
        "DATABASE_AUTH": "none",
        "LANE_SHARED_URL": "https://sqs.eu-west-1.amazonaws.com/123456789012/hourbell-test-shared",
        "LANE_SOLO_URL": "https://sqs.eu-west-1.amazonaws.com/123456789012/hourbell-test-solo",
        "HOLD_SECONDS": "1",
        "HORIZON_SECONDS": "120",
        "CELL": "0",
        "COLD_BUCKET": "hourbell-test-cold",
        "LEASE_SECONDS": "60",
        "SIGNING_SECRET": "hourbell/test/signing",
        "PRIVATE_TARGETS": "refuse",
        "ALLOWED_TARGETS": "arn:aws:events:eu-west-1:123456789012:event-bus/orders arn:aws:sqs:*:123456789012:jobs-*",
    }.items():
        monkeypatch.setenv(f"HOURBELL_{name}", value)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")


@pytest.fixture
def key(conninfo) -> str:
    administrator = Database(conninfo)
    tenant_id = create_tenant(administrator, "acme", now=T0)
    secret = create_api_key(administrator, tenant_id, name="ci", now=T0).secret
    administrator.close()
    return secret


@pytest.fixture
def functions(environment, monkeypatch, postgres, database_name):
    authorizer, api = load("authorizer"), load("api")
    with monkeypatch.context() as own:
        own.setenv("HOURBELL_DATABASE", postgres.conninfo(database=database_name, user="hourbell_authorizer"))
        authorizer.database()
    yield authorizer.handler, api.handler
    authorizer.database().close()
    api.application()._api.scheduler.database.close()


def request(functions, method, path, header, body=None):
    """As API Gateway does it: the authorizer first, then the API with what it said."""
    authorizer, api = functions
    verdict = authorizer({"version": "2.0", "type": "REQUEST", "headers": {"Authorization": header}}, None)
    assert verdict["isAuthorized"] is True
    return api(gateway_event(method, path, body=body, caller=verdict["context"]), None)


def test_a_key_opens_the_api(functions, key):
    created = request(
        functions, "POST", "/v1/targets", f"Bearer {key}", '{"name": "a", "http": {"url": "https://example.com/"}}'
    )
    listed = request(functions, "GET", "/v1/targets", f"Bearer {key}")

    assert (created["statusCode"], listed["statusCode"]) == (201, 200)
    assert '"name":"a"' in listed["body"]


def test_an_unknown_key_is_401_with_a_problem(functions):
    reply = request(functions, "GET", "/v1/jobs", "Bearer hb_live_nonsense")

    assert reply["statusCode"] == 401
    assert reply["headers"]["Content-Type"] == "application/problem+json"
    assert reply["headers"]["WWW-Authenticate"] == "Bearer"


def test_a_stage_without_private_targets_refuses_them(functions, key):
    reply = request(
        functions, "POST", "/v1/targets", f"Bearer {key}", '{"name": "a", "http": {"url": "http://127.0.0.1/"}}'
    )

    assert reply["statusCode"] == 400
    assert "http.url" in reply["body"]


@pytest.mark.parametrize(
    ("target", "field"),
    [
        ('"eventbridge": {"bus": "orders", "source": "hourbell", "detail_type": "due"}', None),
        ('"eventbridge": {"bus": "default", "source": "hourbell", "detail_type": "due"}', "eventbridge.bus"),
        ('"sqs": {"queue_url": "https://sqs.eu-west-2.amazonaws.com/123456789012/jobs-a"}', None),
        ('"sqs": {"queue_url": "https://sqs.eu-west-2.amazonaws.com/123456789012/other"}', "sqs.queue_url"),
        ('"sqs": {"queue_url": "http://127.0.0.1:4566/123456789012/jobs-a"}', "sqs.queue_url"),
    ],
)
def test_a_stage_lets_targets_name_what_its_settings_list(functions, key, target: str, field: str | None):
    reply = request(functions, "POST", "/v1/targets", f"Bearer {key}", f'{{"name": "a", {target}}}')

    assert reply["statusCode"] == (201 if field is None else 400), reply["body"]
    if field is not None:
        assert json.loads(reply["body"])["errors"][0]["field"] == field


def test_health_document_and_pages_need_no_key(functions):
    _, api = functions

    health, document, page, console = (
        api(gateway_event("GET", path, body=None), None)
        for path in ("/v1/health", "/openapi.json", "/docs", "/console")
    )

    assert (health["statusCode"], health["body"]) == (200, '{"status":"ok"}')
    assert document["statusCode"] == 200
    assert document["body"].startswith('{"openapi":"3.1.0"')
    assert page["headers"]["Content-Type"].startswith("text/html")
    assert "http://" not in page["body"]
    assert "https://" not in page["body"]
    assert console["headers"]["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("path", ["/docs", "/console"])
def test_a_page_runs_what_stands_in_it_and_nothing_else(functions, path: str):
    _, api = functions

    page = api(gateway_event("GET", path, body=None), None)

    policy = page["headers"]["Content-Security-Policy"]
    sources = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert sources == {
        "default-src": "'none'",
        "style-src": source_of("style", page["body"]),
        "script-src": source_of("script", page["body"]),
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    assert page["headers"]["X-Content-Type-Options"] == "nosniff"
    assert page["headers"]["Referrer-Policy"] == "no-referrer"
    assert page["headers"]["Cache-Control"] == "no-cache"


@pytest.mark.parametrize("path", ["/docs", "/console"])
def test_a_page_comes_compressed_to_whom_takes_it_so(functions, path: str):
    _, api = functions
    plain = api(gateway_event("GET", path, body=None), None)

    packed = api(gateway_event("GET", path, body=None, headers={"accept-encoding": "gzip, br"}), None)

    assert packed["headers"]["Content-Encoding"] == "gzip"
    assert packed["isBase64Encoded"] is True
    assert gzip.decompress(base64.b64decode(packed["body"])).decode() == plain["body"]


def source_of(tag: str, page: str) -> str:
    """What the policy has to say of the page's only block of this kind."""
    [block] = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    return "'sha256-" + base64.b64encode(hashlib.sha256(block.encode()).digest()).decode() + "'"


def test_a_database_that_is_away_is_503(environment, monkeypatch):
    monkeypatch.setenv("HOURBELL_DATABASE", "host=127.0.0.1 port=1 dbname=none user=none")
    monkeypatch.setattr("hourbell.store.connection._pause", lambda _attempt: 0)
    api = load("api").handler

    reply = api(gateway_event("GET", "/v1/health", body=None), None)

    assert (reply["statusCode"], reply["headers"]["Retry-After"]) == (503, "2")


def test_what_nobody_foresaw_is_a_problem_too(functions, monkeypatch, caplog):
    _, api = functions
    monkeypatch.setattr("hourbell.api.app.read_query", lambda _raw: 1 / 0)

    reply = api(gateway_event("GET", "/v1/health", body=None), None)

    assert (reply["statusCode"], reply["headers"]["Content-Type"]) == (500, "application/problem+json")
    assert "division" not in reply["body"]
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("event", [{}, {"requestContext": None}, {"version": "2.0", "rawPath": None}])
def test_an_event_that_is_none_is_answered_all_the_same(functions, event):
    _, api = functions

    assert api(event, None)["statusCode"] in (401, 500)
