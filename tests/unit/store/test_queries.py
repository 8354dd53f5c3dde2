"""The SQL files: one statement each, its guarantee on the first line, and nothing that would pin a proxied session."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import hourbell
import pytest

QUERIES = sorted((files("hourbell.store") / "queries").iterdir(), key=lambda entry: entry.name)
PACKAGE = Path(hourbell.__file__).parent

# What pins a session to its caller in RDS Proxy (Amazon RDS user guide, "Avoiding pinning an RDS Proxy", read 2026-11).
PINNING = re.compile(
    r"\b(set_config|set\s+(session|local)\b|prepare\b|listen\b|nextval|pg_advisory_lock|create\s+temp|discard\b|declare\b)",
    re.IGNORECASE,
)


def statement(text: str) -> str:
    return "\n".join(line.split("--")[0] for line in text.splitlines())


@pytest.mark.parametrize("entry", QUERIES, ids=lambda entry: entry.name)
def test_a_query_says_what_it_guarantees_and_pins_nothing(entry):
    text = entry.read_text()
    assert re.match(r"-- [A-Z].*", text)
    assert ";" not in statement(text)
    # Whose a transaction is must be said before row policies let it see anything, and only the API's are anybody's.
    assert entry.name in ("introduce.sql", "act_as_operator.sql") or not PINNING.search(statement(text))
    assert not re.search(r"%s|\{\w*\}", statement(text)), "named parameters only"


def test_every_query_is_run_by_somebody():
    code = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    unused = [entry.name for entry in QUERIES if f'"{entry.name.removesuffix(".sql")}"' not in code]
    assert unused == []
