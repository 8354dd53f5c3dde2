"""A browser, and the console of an engine in it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator

import pytest
from hourbell.testing import Server
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.browser.site import Site, served

# A machine under load takes its time; nothing waits longer than it has to.
PATIENCE_MS = 20_000
expect.set_options(timeout=PATIENCE_MS)

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def installed_browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None and os.environ.get("CI"):
        pytest.fail("CI has no Chromium, and without it nobody looks at the console")
    if found is None:
        pytest.skip(f"no {' or '.join(BROWSERS)} on the path: the console is not looked at")
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Of a module, and not of the session: as long as it runs, this thread has a running event loop."""
    program = installed_browser()
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def site(engine_server: Server) -> Iterator[Site]:
    """One for all tests of a module, which keep to things of their own."""
    with served(engine_server) as site:
        yield site


def is_complaint(message: ConsoleMessage) -> bool:
    """Whether the page is at fault; that the API refuses or is away is not its fault, and the browser notes it too."""
    noted = message.text.startswith("Failed to load resource") and re.search(r"status of 4|ERR_FAILED", message.text)
    return message.type in ("error", "warning") and not noted


OpenPage = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser, site: Site) -> Iterator[OpenPage]:
    """Opens the console, signed in where a key is given. What a page complains of fails the test."""
    complaints: list[str] = []
    contexts: list[BrowserContext] = []

    def open_(where: str = "", *, key: str | None = site.key, **options: object) -> Page:
        context = browser.new_context(**{"timezone_id": "Europe/Berlin", **options})
        contexts.append(context)
        if key is not None:
            context.add_init_script(f"sessionStorage.setItem('hourbell.key', {key!r})")
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", lambda message: is_complaint(message) and complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(f"{site.console}{where}")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    return open_page()
