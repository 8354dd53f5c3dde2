"""docs/clock-rules.md does what it says: every row of its worked examples is run."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hourbell.domain.schedule import parse_schedule

from tests.unit.domain.clocks import following, refused, utc, zulu

PAGE = Path(__file__).parents[3] / "docs" / "clock-rules.md"
HEADING = "schedule | zone | settings | after (UTC) | next runs (UTC) | why"


class Example(NamedTuple):
    schedule: str
    zone: str
    settings: str
    after: str
    runs: str
    why: str


def examples() -> list[Example]:
    """The rows of every table under that heading."""
    found: list[Example] = []
    inside = False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = line.strip().strip("|")
        inside = line.startswith("|") and (inside or cells.strip() == HEADING)
        if inside and cells.strip() != HEADING and not set(cells) <= set("-|"):
            found.append(Example(*(cell.strip() for cell in cells.split("|"))))
    return found


def as_mapping(example: Example) -> dict[str, Any]:
    mapping: dict[str, Any] = {"timezone": example.zone}
    if example.schedule.startswith("every "):
        mapping["every"], mapping["anchor"] = example.schedule.removeprefix("every ").split(" from ")
    elif example.schedule.startswith("at "):
        mapping["at"] = example.schedule.removeprefix("at ")
    else:
        mapping["cron"] = example.schedule.strip("`")
    if example.settings:
        name, value = example.settings.split(": ", 1)
        mapping[name] = [value] if name == "exclude" else value
    return mapping


@pytest.mark.parametrize("example", examples(), ids=lambda example: f"{example.schedule} {example.settings}")
def test_worked_example(example: Example) -> None:
    after = utc(example.after)
    if example.runs == "refused":
        refused(as_mapping(example), after)
        return
    expected = [zulu(utc(text)) for text in example.runs.split("; ")]
    schedule = parse_schedule(as_mapping(example), now=after)
    assert following(schedule, after, len(expected)) == expected


def test_the_page_has_examples_of_every_kind() -> None:
    kinds = {example.schedule.split()[0].strip("`0123456789,-/*") for example in examples()}
    assert {"every", "at"} <= kinds
    assert len(examples()) > 40
