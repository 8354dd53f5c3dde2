"""``hourbell tenants``: what an operator asks for, and what is shown."""

from __future__ import annotations

import json

import pytest

from tests.unit.cli.conftest import Stage

TENANT = {
    "id": "ten_01",
    "name": "acme",
    "quotas": {"max_jobs": 500_000, "max_runs_per_minute": None, "max_requests_per_second": 100},
    "jobs": 12,
    "version": 1,
    "created_at": "2026-11-29T12:00:00.000Z",
    "updated_at": "2026-11-29T12:00:00.000Z",
}


def test_a_tenant_is_made_and_its_first_key_printed_alone(stage: Stage):
    stage.answer("POST", "/v1/tenants", {**TENANT, "key": {"id": "key_01", "secret": "hb_live_x"}}, 201)

    result = stage.run("tenants", "create", "acme", "--max-jobs", "500000", "--max-runs-per-minute", "none")

    assert (result.exit_code, result.output) == (0, "hb_live_x\n")
    assert stage.sent() == {"name": "acme", "quotas": {"max_jobs": 500_000, "max_runs_per_minute": None}}


def test_a_tenant_without_options_has_the_defaults(stage: Stage):
    stage.answer("POST", "/v1/tenants", {**TENANT, "key": {"id": "key_01", "secret": "hb_live_x"}}, 201)

    stage.run("tenants", "create", "acme")

    assert stage.sent() == {"name": "acme"}


def test_tenants_are_listed_with_their_quotas(stage: Stage):
    stage.answer("GET", "/v1/tenants", {"items": [TENANT], "next_cursor": "abc"})

    result = stage.run("tenants", "list")

    for shown in ("acme", "12", "500,000", "none", "100", "--cursor abc"):
        assert shown in result.output


def test_quotas_of_a_tenant_are_set_by_its_name(stage: Stage):
    stage.answer("GET", "/v1/tenants", {"items": [TENANT], "next_cursor": None})
    stage.answer("PATCH", "/v1/tenants/ten_01", TENANT)

    result = stage.run("tenants", "quota", "acme", "--max-requests-per-second", "none")

    assert result.exit_code == 0
    assert stage.seen[0].url.params["name"] == "acme"
    assert json.loads(stage.seen[1].content) == {"quotas": {"max_requests_per_second": None}}


def test_quotas_are_shown_and_nothing_written_where_none_is_named(stage: Stage):
    stage.answer("GET", "/v1/tenants/ten_01", TENANT)

    assert json.loads(stage.run("tenants", "quota", "ten_01", "--json").output) == TENANT
    assert [request.method for request in stage.seen] == ["GET"]


@pytest.mark.parametrize("limit", ["many", "-1", "1.5", "1_000"])
def test_a_limit_that_is_no_number_is_wrong_usage(stage: Stage, limit: str):
    result = stage.run("tenants", "quota", "ten_01", f"--max-jobs={limit}")

    assert result.exit_code == 2
    assert stage.seen == []


def test_a_name_that_nobody_has_is_one_line(stage: Stage):
    stage.answer("GET", "/v1/tenants", {"items": [], "next_cursor": None})

    result = stage.run("tenants", "quota", "globex")

    assert "No tenant is called globex." in str(result.exception)
