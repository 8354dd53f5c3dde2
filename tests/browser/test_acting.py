"""What an operator does: jobs made, edited, paused, run and deleted; runs retried; targets silenced."""

from __future__ import annotations

import json

import pytest
from hourbell.client import Job
from hourbell.testing import Engine
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.site import Site


@pytest.fixture(scope="module", autouse=True)
def targets(site: Site) -> None:
    def add(engine: Engine) -> None:
        engine.add_target("sink", lambda _call: None)
        engine.add_target("refusing", lambda _call: 404)

    site.do(add)


def make_job(site: Site, name: str, **members: object) -> Job:
    body = {"name": name, "schedule": {"every": "1h"}, "target": "sink", **members}
    return site.do(lambda engine: engine.client.create_job(body))


def read_job(site: Site, job: Job) -> Job:
    return site.do(lambda engine: engine.client.get_job(job["id"]))


def act(page: Page, action: str, confirm: str | None = None) -> None:
    page.get_by_role("group", name="Actions").get_by_role("button", name=action).click()
    page.get_by_role("dialog").get_by_role("button", name=confirm or action).click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_job_is_made_with_its_schedule_in_sight(open_page: OpenPage, site: Site):
    page = open_page("#/jobs/new")
    page.get_by_label("Cron expression").fill("30 2 * * MON")
    page.get_by_label("Zone").fill("Europe/Paris")
    preview = page.get_by_role("region", name="Preview")
    expect(preview).to_contain_text("At 02:30 AM")
    expect(preview.locator("li")).to_have_count(6)

    page.get_by_label("Name", exact=True).fill("weekly")
    page.get_by_label("Target", exact=True).fill("sink")
    page.get_by_label("Payload (JSON)").fill('{"big": 12345678901234567890}')
    page.get_by_label("Tags, one a line").fill("team:payments")
    page.get_by_role("button", name="Create the job").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("weekly")

    [job] = site.do(lambda engine: engine.client.list_jobs(name="weekly"))["items"]
    assert job["schedule"]["cron"] == "30 2 * * MON"
    assert job["schedule"]["timezone"] == "Europe/Paris"
    assert job["payload"] == {"big": 12345678901234567890}
    assert job["tags"] == {"team": "payments"}


def test_the_preview_tells_what_a_clock_change_does(open_page: OpenPage):
    page = open_page("#/jobs/new")
    page.get_by_label("Cron expression").fill("30 2 26 3 *")
    expect(page.get_by_role("region", name="Preview").locator("li").first).to_contain_text(
        "shifted by the clock change"
    )


def test_what_the_api_refuses_stands_at_its_fields(open_page: OpenPage):
    page = open_page("#/jobs/new")
    page.get_by_label("Cron expression").fill("61 2 * * *")
    expect(page.get_by_label("Cron expression")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("minute 61 is outside 0-59").first).to_be_visible()

    page.get_by_label("Target", exact=True).fill("sink")
    page.get_by_label("Tags, one a line").fill("no good:1")
    page.get_by_label("Payload (JSON)").fill("{nope")
    page.get_by_role("button", name="Create the job").click()
    expect(page.get_by_label("Payload (JSON)")).to_have_attribute("aria-invalid", "true")

    page.get_by_label("Payload (JSON)").fill("{}")
    page.get_by_role("button", name="Create the job").click()
    expect(page.get_by_label("Tags, one a line")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("a tag's name has 1 to 64 letters")).to_be_visible()


def test_an_edit_changes_what_was_changed_and_nothing_else(open_page: OpenPage, site: Site):
    payload = {"keep": [1, {"deep": None}], "big": 12345678901234567890, "drop": 1}
    job = make_job(site, "edited", payload=payload, tags={"a": "1", "b": "2"}, window="10m")
    page = open_page(f"#/jobs/{job['id']}/edit")
    expect(page.get_by_label("Payload (JSON)")).to_have_value(json.dumps(payload, indent=2))
    page.get_by_label("Tags, one a line").fill("a:1\nc:3")
    page.get_by_label("Payload (JSON)").fill(json.dumps({**{k: payload[k] for k in ("keep", "big")}, "new": True}))
    page.get_by_label("Once").check()
    page.get_by_label("At", exact=True).fill("2027-06-01T09:00:00Z")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("edited")

    edited = read_job(site, job)
    assert edited["payload"] == {"keep": [1, {"deep": None}], "big": 12345678901234567890, "new": True}
    assert edited["tags"] == {"a": "1", "c": "3"}
    assert edited["schedule"]["at"] == "2027-06-01T09:00:00Z"
    assert {name: edited[name] for name in ("window", "retry", "catch_up", "overlap", "timeout")} == {
        name: job[name] for name in ("window", "retry", "catch_up", "overlap", "timeout")
    }


def test_an_edit_over_somebody_elses_is_noticed(open_page: OpenPage, site: Site):
    job = make_job(site, "contended")
    page = open_page(f"#/jobs/{job['id']}/edit")
    page.get_by_label("Tags, one a line").fill("mine:1")
    site.do(lambda engine: engine.client.update_job(job["id"], {"tags": {"theirs": "1"}}))
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Somebody else changed this since")).to_be_visible()

    page.get_by_role("button", name="Show theirs").click()
    expect(page.get_by_label("Tags, one a line")).to_have_value("theirs:1")
    assert read_job(site, job)["tags"] == {"theirs": "1"}


def test_a_job_is_paused_and_resumed(open_page: OpenPage, site: Site):
    job = make_job(site, "stopped")
    page = open_page(f"#/jobs/{job['id']}")
    page.get_by_role("button", name="Pause").click()
    page.get_by_label("Why").fill("the ledger moves")
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Paused: the ledger moves")).to_be_visible()

    page.get_by_role("button", name="Resume").click()
    page.get_by_label("Catch up").check()
    page.get_by_role("dialog").get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    assert read_job(site, job)["state"] == "active"


def test_a_dialog_that_is_left_gives_the_focus_back(open_page: OpenPage, site: Site):
    page = open_page(f"#/jobs/{make_job(site, 'kept')['id']}")
    for leave in (lambda: page.keyboard.press("Escape"), lambda: page.get_by_text("Back", exact=True).click()):
        page.get_by_role("button", name="Delete").press("Enter")
        expect(page.get_by_role("dialog")).to_be_visible()
        leave()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_role("button", name="Delete")).to_be_focused()


def test_the_next_occurrence_is_skipped(open_page: OpenPage, site: Site):
    job = make_job(site, "skipped")
    page = open_page(f"#/jobs/{job['id']}")
    act(page, "Skip next", "Skip it")

    expect(page.get_by_role("status")).to_contain_text("is taken out")
    assert read_job(site, job)["next_run_at"] == job["next_runs"][1]


def test_a_triggered_run_is_shown_and_a_dead_one_starts_over(open_page: OpenPage, site: Site):
    job = make_job(site, "triggered", target="refusing")
    page = open_page(f"#/jobs/{job['id']}")
    act(page, "Trigger")
    expect(page.get_by_role("heading", level=1)).to_have_text("Run of triggered")
    site.do(lambda engine: engine.run_due_jobs())
    expect(page.locator(".head .badge")).to_have_text("dead")

    act(page, "Retry")
    expect(page.locator(".head .badge")).to_have_text("queued")
    act(page, "Cancel the run")
    expect(page.locator(".head .badge")).to_have_text("cancelled")


def test_dead_runs_are_counted_before_they_are_redriven(open_page: OpenPage, site: Site):
    job = make_job(site, "redriven", target="refusing")

    def die(engine: Engine) -> None:
        engine.client.trigger_job(job["id"])
        engine.run_due_jobs()

    site.do(die)
    page = open_page(f"#/runs?state=dead&job={job['id']}")
    page.get_by_role("button", name="Redrive").click()
    expect(page.get_by_role("dialog")).to_contain_text("1 runs that are dead")
    page.get_by_role("dialog").get_by_role("button", name="Redrive").click()

    expect(page.get_by_text("No run fits")).to_be_visible()


def test_a_job_is_deleted_by_its_name(open_page: OpenPage, site: Site):
    job = make_job(site, "unwanted")
    page = open_page(f"#/jobs/{job['id']}")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog")).to_contain_text("Delete unwanted?")
    page.get_by_role("dialog").get_by_role("button", name="Delete the job").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")
    assert site.do(lambda engine: engine.client.list_jobs(name="unwanted"))["items"] == []


def test_a_target_is_paused_and_resumed(open_page: OpenPage, site: Site):
    target = site.do(lambda engine: engine.add_target("silenced", lambda _call: None))
    page = open_page(f"#/targets/{target['id']}")
    act(page, "Pause")
    expect(page.locator(".head .badge")).to_have_text("paused")
    act(page, "Resume")
    expect(page.locator(".head .badge")).to_have_text("active")


def test_a_span_is_counted_before_it_is_backfilled(open_page: OpenPage, site: Site):
    job = make_job(site, "backfilled", schedule={"cron": "0 * * * *", "timezone": "UTC"})
    page = open_page(f"#/jobs/{job['id']}")
    page.get_by_role("button", name="Backfill").click()
    page.get_by_label("From").fill("2027-05-09T08:00")
    page.get_by_label("Before").fill("2027-05-09T11:00")
    page.get_by_role("dialog").get_by_role("button", name="Run 3").click()

    expect(page.get_by_role("status")).to_contain_text("3 runs of backfilled are on their way")


def test_a_target_is_made_and_its_limits_changed(open_page: OpenPage, site: Site):
    page = open_page("#/targets/new")
    page.get_by_label("Name", exact=True).fill("made")
    page.get_by_label("URL").fill("gopher://127.0.0.1/")
    page.get_by_role("button", name="Create the target").click()
    expect(page.get_by_label("URL")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("URL").fill("http://127.0.0.1:9/")
    page.get_by_label("Headers").fill("X-Team: payments")
    page.get_by_role("button", name="Create the target").click()

    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Calls per second").fill("2.5")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("2.5 per second")).to_be_visible()

    [target] = site.do(lambda engine: engine.client.list_targets(name="made"))["items"]
    assert target["http"] == {
        "url": "http://127.0.0.1:9/",
        "method": "POST",
        "headers": {"X-Team": "payments"},
        "secret": None,
    }
    assert (target["rate_per_second"], target["burst"]) == (2.5, None)


def test_a_test_of_a_target_shows_what_was_sent_and_what_came_back(open_page: OpenPage, site: Site):
    target = site.do(lambda engine: engine.add_target("tested", lambda _call: None))
    sent = {
        "method": "POST",
        "to": "https://example.com/x",
        "headers": {"webhook-signature": "***"},
        "body": "<b>1</b>",
    }
    answer = {"id": "run_1", "state": "finished", "outcome": "failed", "status_code": 503, "duration_ms": 12}
    page = open_page(f"#/targets/{target['id']}")
    page.route("**/test", lambda route: route.fulfill(json={**answer, "error": "HTTP 503", "sent": sent}))
    page.get_by_role("button", name="Test").click()

    shown = page.get_by_role("region", name="Test", exact=True)
    for text in ("failed", "503", "12 ms", "POST https://example.com/x", "webhook-signature", "<b>1</b>"):
        expect(shown).to_contain_text(text)


def test_a_refused_field_and_its_message_are_in_sight(open_page: OpenPage):
    page = open_page("#/jobs/new", viewport={"width": 1280, "height": 900})
    page.get_by_label("Cron expression").fill("0 * * * *")
    target = page.get_by_label("Target", exact=True)
    target.fill("nobody")
    page.evaluate("scrollTo(0, 0)")
    page.get_by_role("button", name="Create the job").click()
    expect(target).to_be_focused()

    field = page.locator(".field", has=target).bounding_box()
    bar = page.locator(".sticky").bounding_box()
    assert field is not None
    assert bar is not None
    assert field["y"] + field["height"] <= bar["y"]


def test_a_deleted_job_is_asked_for_once_and_is_no_link(open_page: OpenPage, site: Site):
    jobs = [make_job(site, f"gone-{number}", schedule={"every": "1m"}) for number in range(6)]

    def run_and_delete(engine: Engine) -> None:
        for job in jobs:
            engine.client.trigger_job(job["id"])
            engine.client.delete_job(job["id"])
        engine.run_until("2027-05-09T12:00:30Z")

    site.do(run_and_delete)
    asked = len(site.asked)
    page = open_page("#/runs?state=cancelled")
    table = page.get_by_role("table", name="Runs")
    expect(table.get_by_text("a deleted job")).to_have_count(len(jobs))
    page.wait_for_load_state("networkidle")

    assert table.get_by_role("link", name="a deleted job").count() == 0
    looked_up = [path for path in site.asked[asked:] if "/v1/jobs/" in path]
    assert len(looked_up) == len(set(looked_up))
