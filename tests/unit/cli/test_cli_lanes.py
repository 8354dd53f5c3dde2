"""``hourbell lanes redrive`` asks before it moves anything."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest
from hourbell.cli import lanes
from hourbell.domain.run_state import Lane
from hourbell.lanes.queues import LaneDepth, RedrivenLetters

from tests.unit.cli.conftest import Stage


@dataclass(slots=True)
class Queues:
    """Lanes with dead letters."""

    dead: dict[Lane, int]
    redriven: list[Lane] = field(default_factory=list)

    def depth(self, lane: Lane) -> LaneDepth:
        return LaneDepth(lane=lane, waiting=0, in_flight=0, delayed=0, dead=self.dead[lane])

    def redrive(self, lane: Lane) -> RedrivenLetters:
        self.redriven.append(lane)
        return RedrivenLetters(moved=self.dead[lane], foreign=0)


@pytest.fixture
def queues(monkeypatch: pytest.MonkeyPatch) -> Queues:
    made = Queues(dead={Lane.SHARED: 1200, Lane.SOLO: 3})
    monkeypatch.setattr(lanes, "_queues", lambda _stage: made)
    return made


def test_a_redrive_asks_with_the_numbers_of_the_lanes(stage: Stage, queues: Queues):
    refused = stage.run("lanes", "redrive", stdin="n\n")

    assert refused.exit_code == 1
    assert "Move 1,203 dead letters back (shared: 1,200, solo: 3)?" in refused.stderr
    assert queues.redriven == []


def test_who_says_yes_is_not_asked(stage: Stage, queues: Queues):
    done = stage.run("lanes", "redrive", "--lane", "solo", "--yes", "--json")

    assert json.loads(done.stdout)["lanes"] == {"solo": {"moved": 3, "foreign": 0}}
    assert queues.redriven == [Lane.SOLO]


def test_where_there_is_nothing_to_move_nobody_is_asked(stage: Stage, queues: Queues):
    queues.dead = dict.fromkeys(queues.dead, 0)

    assert stage.run("lanes", "redrive").output.splitlines()[0] == "shared: 0 dead letters moved back."


def test_counting_asks_nothing(stage: Stage, queues: Queues):
    assert "solo: 3 dead letters to move." in stage.run("lanes", "redrive", "--dry-run").output
    assert queues.redriven == []
