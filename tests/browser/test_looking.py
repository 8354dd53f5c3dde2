"""What the pages show, and that they show it as text, at any width, also while the API is away."""

from __future__ import annotations

import re

import pytest
from hourbell.testing import Engine
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import OpenPage
from tests.browser.site import Site

EVIL = "<img src=x onerror=alert(1)>"


def fill(engine: Engine) -> dict[str, str]:
    """Jobs of every kind with a name, runs that succeeded, died and were retried; the addresses of their pages."""

    def refuse(_call: object) -> int:
        return 404

    def create(name: str, schedule: dict[str, str], target: str, **members: object) -> str:
        return engine.client.create_job({"name": name, "schedule": schedule, "target": target, **members})["id"]

    target = engine.add_target("steady", lambda _call: None, rate_per_second=50)["id"]
    engine.add_target(f"refusing {EVIL}", refuse)
    steady = create("steady-" + "long-name-" * 12, {"every": "30s"}, "steady", tags={"team": "payments"})
    evil = create(EVIL, {"every": "1m"}, f"refusing {EVIL}", tags={"evil": EVIL}, payload={EVIL: EVIL})
    nightly = create("nightly", {"cron": "30 2 * * *", "timezone": "Europe/Berlin"}, "steady")
    paused = create("paused", {"every": "1h"}, "steady")
    engine.client.pause_job(paused, note=EVIL)
    runs = engine.run_until("2027-05-09T12:05:00Z")
    dead = next(run["id"] for run in runs if run["state"] == "dead")
    succeeded = next(run["id"] for run in runs if run["state"] == "succeeded")
    return {
        "overview": "#/",
        "jobs": "#/jobs",
        "job": f"#/jobs/{steady}",
        "evil job": f"#/jobs/{evil}",
        "nightly job": f"#/jobs/{nightly}",
        "paused job": f"#/jobs/{paused}",
        "edit": f"#/jobs/{evil}/edit",
        "new": "#/jobs/new",
        "runs": "#/runs",
        "run": f"#/runs/{succeeded}",
        "dead run": f"#/runs/{dead}",
        "targets": "#/targets",
        "target": f"#/targets/{target}",
        "keys": "#/keys",
        "nowhere": "#/no/such/page",
    }


@pytest.fixture(scope="module")
def pages(site: Site) -> dict[str, str]:
    return site.do(fill)


def settle(page: Page) -> None:
    page.wait_for_load_state("networkidle")
    expect(page.get_by_text("Loading …")).to_have_count(0)


def test_names_and_errors_are_text_on_every_page(open_page: OpenPage, site: Site, pages: dict[str, str]):
    page = open_page()
    for where in pages.values():
        page.goto(f"{site.console}{where}")
        settle(page)
        assert page.locator("img").count() == 0, where

    page.goto(f"{site.console}{pages['evil job']}")
    expect(page.get_by_role("heading", level=1)).to_have_text(EVIL)


def test_no_page_is_wider_than_a_telephone(open_page: OpenPage, site: Site, pages: dict[str, str]):
    page = open_page(viewport={"width": 360, "height": 740})
    for where in pages.values():
        page.goto(f"{site.console}{where}")
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), where


def test_the_overview_says_at_a_glance_how_it_stands(page: Page, pages: dict[str, str]):
    expect(page.get_by_role("group", name="Lateness of the latest")).to_be_visible()
    expect(page.get_by_text("Dead, last hour")).to_be_visible()
    expect(page.get_by_role("link", name="paused 1")).to_be_visible()
    page.locator(".dead-runs").get_by_role("link", name="HTTP 404").first.click()

    expect(page.get_by_role("heading", level=1)).to_have_text(f"Run of {EVIL}")
    expect(page.get_by_role("table", name="Attempts")).to_contain_text("404")
    expect(page.get_by_text("refused by target")).to_be_visible()


@pytest.mark.parametrize(
    ("last", "unit"),
    [("2027-05-11T05:00:00.000Z", "hour"), ("2027-06-20T05:00:00.000Z", "day"), ("2031-05-10T09:00:00.000Z", "month")],
)
def test_cold_jobs_are_drawn_by_the_unit_that_fits(open_page: OpenPage, last: str, unit: str):
    def add_cold_hours(route: Route) -> None:
        reply = route.fetch()
        hours = [{"hour": hour, "jobs": 7} for hour in ("2027-05-10T06:00:00.000Z", last)]
        route.fulfill(response=reply, json={**reply.json(), "cold": {"hours": hours, "capped": False}})

    page = open_page("#/keys")
    page.route("**/v1/stats", add_cold_hours)
    page.get_by_role("link", name="Overview", exact=True).click()

    drawn = page.get_by_role("img", name="cold jobs")
    expect(drawn).to_have_attribute("aria-label", f"14 cold jobs, by the {unit} in which they are due")


def test_the_last_picture_stays_while_the_api_does_not_answer(page: Page, pages: dict[str, str]):
    expect(page.get_by_text("Dead, last hour")).to_be_visible()
    page.route("**/v1/**", lambda route: route.abort("failed"))
    look_again(page)

    expect(page.get_by_role("alert").first).to_contain_text("The API does not answer. What you see is as of")
    expect(page.get_by_text("not up to date")).to_be_visible()
    expect(page.get_by_text("Dead, last hour")).to_be_visible()

    page.unroute("**/v1/**")
    look_again(page)
    expect(page.get_by_role("alert")).to_have_count(0)


def look_again(page: Page) -> None:
    """As when the reader comes back to the tab."""
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_nothing_is_asked_while_the_tab_is_hidden(page: Page, site: Site, pages: dict[str, str]):
    settle(page)
    page.evaluate("Object.defineProperty(document, 'hidden', { get: () => true })")
    before = len(site.asked)
    look_again(page)
    settle(page)

    assert len(site.asked) == before


def test_filters_stand_in_the_address_and_back_undoes_them(open_page: OpenPage, pages: dict[str, str]):
    page = open_page("#/jobs")
    rows = page.get_by_role("table", name="Jobs").locator("tbody tr")
    expect(rows).to_have_count(4)
    page.get_by_label("State").select_option("paused")
    expect(rows).to_have_count(1)
    assert page.url.endswith("#/jobs?state=paused")

    page.go_back()
    expect(rows).to_have_count(4)
    page.get_by_role("link", name="team:payments").click()
    expect(rows).to_have_count(1)
    expect(page.get_by_label("Tag")).to_have_value("team:payments")


def test_lists_go_on_page_by_page(open_page: OpenPage, pages: dict[str, str]):
    page = open_page("#/keys")
    page.route(
        re.compile(r"v1/runs\?"), lambda route: route.continue_(url=route.request.url.replace("limit=50", "limit=2"))
    )
    page.goto(page.url.replace("#/keys", "#/runs"))
    times = page.get_by_role("table", name="Runs").locator("tbody time")
    first = times.all_text_contents() if expect(times).to_have_count(2) is None else []
    page.get_by_role("link", name="Next page").click()
    expect(times.first).not_to_have_text(first[0])

    page.get_by_role("link", name="First page").click()
    expect(times.first).to_have_text(first[0])


def test_the_keyboard_finds_the_search_and_the_rooms(page: Page, pages: dict[str, str]):
    settle(page)
    page.keyboard.press("/")
    expect(page.get_by_label("Search")).to_be_focused()
    page.keyboard.type("nightly")
    expect(page.get_by_role("table", name="Jobs").locator("tbody tr")).to_have_count(1)

    page.get_by_label("Search").blur()
    page.keyboard.press("g")
    page.keyboard.press("t")
    expect(page.get_by_role("heading", name="Targets")).to_be_visible()


def test_times_are_in_the_browsers_zone_with_utc_in_the_title(open_page: OpenPage, pages: dict[str, str]):
    page = open_page(pages["nightly job"])
    occurrence = page.locator(".occurrences time").first

    expect(occurrence).to_contain_text("2027-05-10 02:30:00")
    assert "2027-05-10 00:30:00.000 UTC" in (occurrence.get_attribute("title") or "")


def test_runs_are_found_by_the_name_of_their_job_and_pages_by_their_id(open_page: OpenPage, pages: dict[str, str]):
    page = open_page("#/runs")
    page.get_by_label("Job", exact=True).fill(EVIL)
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"Runs of {EVIL}")).to_be_visible()
    expect(page.get_by_role("table", name="Runs").locator("tbody tr")).to_have_count(5)

    page.goto(page.url.partition("#")[0] + "#/jobs")
    page.get_by_label("Search").fill(pages["dead run"].rpartition("/")[2])
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Run of {EVIL}")


@pytest.mark.parametrize(
    ("zone", "told"),
    [("UTC", "Times in UTC."), ("Europe/Berlin", "Times in Europe/Berlin; the title of each has UTC.")],
)
def test_the_footer_says_in_which_zone_times_are(open_page: OpenPage, zone: str, told: str):
    page = open_page(timezone_id=zone)
    expect(page.locator("footer span").first).to_have_text(told)
