"""The key: where it goes, what becomes of a wrong one, and what one without scopes still shows."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.site import Site


def sign_in(page: Page, key: str) -> None:
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()


def test_a_key_opens_the_console_and_is_in_no_address(open_page: OpenPage, site: Site):
    page = open_page(key=None)
    sign_in(page, site.key)

    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    assert site.key not in page.url
    assert not any(site.key in asked for asked in site.asked)
    assert page.evaluate("localStorage.length") == 0


def test_a_wrong_key_gets_a_sentence(open_page: OpenPage):
    page = open_page(key=None)

    sign_in(page, "hb_live_nonsense")
    expect(page.get_by_role("alert")).to_contain_text("does not know this key")
    sign_in(page, "what is this")
    expect(page.get_by_role("alert")).to_contain_text("begins with hb_")


def test_signing_out_forgets_the_key(open_page: OpenPage, site: Site):
    page = open_page(key=None)
    sign_in(page, site.key)
    page.get_by_role("button", name="Sign out").click()

    expect(page.get_by_label("API key")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0


def test_a_key_that_is_revoked_meanwhile_leads_back_to_the_sign_in(open_page: OpenPage, site: Site):
    made = site.do(lambda engine: engine.client.create_key("leaver", ["jobs:read"]))
    page = open_page("#/jobs", key=None)
    sign_in(page, made["secret"])
    page.wait_for_load_state("networkidle")

    site.do(lambda engine: engine.client.revoke_key(made["id"]))
    page.evaluate("location.hash = '#/runs'")

    expect(page.get_by_role("status")).to_contain_text("not valid any more")


def test_a_panel_says_which_scope_the_key_lacks(open_page: OpenPage, site: Site):
    key = site.do(lambda engine: engine.client.create_key("writer", ["runs:write"]))["secret"]
    page = open_page("#/jobs", key=key)

    expect(page.get_by_role("alert")).to_have_text("This key lacks the scope jobs:read.")
    page.get_by_role("link", name="Keys").click()
    expect(page.get_by_role("alert")).to_have_text("This key lacks the scope keys:write.")


def test_an_action_that_the_key_may_not_do_is_told_in_its_dialog(open_page: OpenPage, site: Site):
    key = site.do(lambda engine: engine.client.create_key("reader", ["jobs:read"]))["secret"]
    job = site.do(
        lambda engine: engine.client.create_job(
            {"name": "untouchable", "schedule": {"every": "1h"}, "target": {"http": {"url": "http://127.0.0.1:9/"}}}
        )
    )
    page = open_page(f"#/jobs/{job['id']}", key=key)
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()

    expect(page.get_by_role("dialog").get_by_role("alert")).to_have_text("This key lacks the scope jobs:write.")


def test_a_key_is_made_its_secret_shown_once_and_revoked(open_page: OpenPage, site: Site):
    page = open_page("#/keys")
    page.get_by_role("button", name="New key").click()
    page.get_by_label("Name").fill("grafana")
    page.get_by_label("runs:write").check()
    page.get_by_role("button", name="Create the key").click()
    secret = page.get_by_text("hb_live_").text_content()
    page.get_by_role("button", name="I have it").click()
    expect(page.get_by_text("hb_live_")).to_have_count(0)

    [made] = [key for key in site.do(lambda engine: engine.client.list_keys())["items"] if key["name"] == "grafana"]
    assert made["scopes"] == ["jobs:read", "runs:write"]
    assert made["expires_at"].startswith("2027-08-07")
    other = open_page(key=secret)
    expect(other.get_by_role("heading", name="Overview")).to_be_visible()

    page.get_by_role("button", name="Revoke grafana").click()
    page.get_by_role("button", name="Revoke the key").click()
    expect(page.get_by_role("row", name="grafana")).to_contain_text("revoked")
