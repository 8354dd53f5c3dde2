"""The console's page: made of its files, whole, and of npm's as they were published."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest
from hourbell.api.console_page import PAGE, SCRIPTS, VENDORED

NODE_MODULES = Path(__file__).parents[3] / ".hourbell" / "node" / "node_modules"
CONSOLE = Path(str(files("hourbell.api") / "console"))
PUBLISHED = {
    "preact.umd.js": "preact/dist/preact.umd.js",
    "hooks.umd.js": "preact/hooks/dist/hooks.umd.js",
    "htm.umd.js": "htm/dist/htm.umd.js",
}


@pytest.mark.parametrize("name", VENDORED)
def test_a_copied_library_is_the_published_one(name: str):
    """After an update of package.json: copy the file anew."""
    assert (CONSOLE / "vendor" / name).read_bytes() == (NODE_MODULES / PUBLISHED[name]).read_bytes()


def test_every_script_is_in_the_page():
    assert sorted(SCRIPTS) == sorted(path.name for path in CONSOLE.glob("*.js"))
    assert sorted(VENDORED) == sorted(path.name for path in (CONSOLE / "vendor").glob("*.js"))


def test_it_loads_nothing_from_anywhere():
    assert re.findall(r"""(?:src|href)=["']?(?:https?:)?//""", PAGE) == []
    assert re.findall(r"@import|url\(|\bimport\(|sourceMappingURL", PAGE) == []


def test_nothing_ends_the_script_before_its_end():
    assert PAGE.count("<script>") == PAGE.count("</script") == 1


@pytest.mark.parametrize("name", SCRIPTS)
def test_text_reaches_the_page_through_the_library_alone(name: str):
    script = (CONSOLE / name).read_text(encoding="utf-8")

    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", script) == []
