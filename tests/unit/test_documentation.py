"""What README and docs name is there: tests, files, links, functions, commands and paths of the API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hourbell.cli.main import app
from typer.main import get_command

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "layers/hourbell/python/hourbell"
PAGES = [ROOT / "README.md", ROOT / "benchmarks/README.md", *sorted((ROOT / "docs").rglob("*.md"))]

pages = pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])


@cache
def known_tests() -> frozenset[str]:
    files = list((ROOT / "tests").rglob("test_*.py"))
    functions = (re.findall(r"def (test_\w+)", file.read_text()) for file in files)
    return frozenset({file.stem for file in files}.union(*functions))


@pages
def test_every_test_that_is_named_exists(page: Path) -> None:
    text = page.read_text()
    assert set(re.findall(r"\btest_\w+", text)) <= known_tests() | set(re.findall(r"def (test_\w+)", text))


@pages
def test_every_file_that_is_named_exists(page: Path) -> None:
    named = set(re.findall(r"`([\w./]+/[\w.]+\.(?:py|sql|json|md))`", page.read_text()))
    rooms = (ROOT, PACKAGE, PACKAGE / "store/queries", ROOT / "docs")
    assert not {name for name in named if not any((room / name).is_file() for room in rooms)}


@pages
def test_every_link_leads_somewhere(page: Path) -> None:
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if link.startswith(("https:", "http:")):
            continue
        path, _, anchor = link.partition("#")
        leads_to = (page.parent / path).resolve() if path else page
        if not leads_to.exists() or (anchor and anchor not in anchors(leads_to)):
            dead.append(link)
    assert not dead


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub spells them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("function", sorted(path.name for path in (ROOT / "functions").iterdir() if path.is_dir()))
def test_every_function_is_in_the_table_and_the_drawing_of_the_architecture(function: str) -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    drawing = text.split("```mermaid")[1].split("```")[0]
    assert re.search(rf"^\| `{function}\b", text, re.MULTILINE)
    assert function in drawing or function in {"migrator", "partitioner", "replanner"}, "the drawing shows what rings"


def command_lines(page: Path) -> Iterator[list[str]]:
    """The words of each ``hourbell …`` line in a block of shell."""
    for block in re.findall(r"```(?:console|sh|bash)\n(.*?)```", page.read_text(), re.DOTALL):
        for line in re.findall(r"^(?:\$ )?(?:.*\| )?(?:\.venv/bin/)?hourbell (.+)$", block, re.MULTILINE):
            yield line.split(" #")[0].split()


@pages
def test_every_command_and_option_that_is_shown_exists(page: Path) -> None:
    for words in command_lines(page):
        command: Any = get_command(app)
        while hasattr(command, "commands"):
            name = words.pop(0)
            assert name in command.commands, words
            command = command.commands[name]
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word.partition("=")[0] for word in words if word.startswith("-") and word != "-"} <= options, words


@pages
def test_every_make_target_that_is_named_exists(page: Path) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"(?:`|^\$ )make ([a-z-]+)", page.read_text(), re.MULTILINE)) <= set(targets)


@pages
def test_every_operation_that_is_named_exists(page: Path) -> None:
    paths = json.loads((ROOT / "docs/openapi.json").read_text())["paths"]
    operations = {(method.upper(), parts(path)) for path, methods in paths.items() for method in methods}
    named = re.findall(r"`(GET|POST|PUT|PATCH|DELETE) (/v1/[\w/{}-]+)", page.read_text())
    assert {(method, parts(path)) for method, path in named} <= operations


def parts(path: str) -> str:
    return re.sub(r"{\w+}", "{}", path)


def test_the_readme_leads_to_every_page() -> None:
    readme = (ROOT / "README.md").read_text()
    assert not [page.name for page in (ROOT / "docs").glob("*.md") if f"](docs/{page.name}" not in readme]


def test_every_problem_of_the_api_is_in_its_table() -> None:
    slugs = set(re.findall(r'slug="([a-z-]+)"', (PACKAGE / "api/problems.py").read_text()))
    table = re.findall(r"^\| \d{3} \| (.+?) \|", (ROOT / "docs/api.md").read_text(), re.MULTILINE)
    assert {slug for row in table for slug in re.findall(r"`([a-z-]+)`", row)} == slugs
