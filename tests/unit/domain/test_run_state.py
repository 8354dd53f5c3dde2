import re
from importlib.resources import files
from itertools import pairwise

import pytest
from hourbell.domain.run_state import (
    FINISHED,
    JOB_TRANSITIONS,
    RUN_TRANSITIONS,
    JobState,
    Lane,
    RunOrigin,
    RunState,
    job_may_become,
    run_may_become,
)

MIGRATIONS = sorted((files("hourbell.store") / "migrations").iterdir(), key=lambda entry: entry.name)
SCHEMA = "\n".join(entry.read_text(encoding="utf-8") for entry in MIGRATIONS)


@pytest.mark.parametrize(
    ("constraint", "states"),
    [
        ("run_state_check", RunState),
        ("job_state_check", JobState),
        ("run_lane_check", Lane),
        ("run_origin_check", RunOrigin),
    ],
)
def test_the_database_allows_the_same_states(constraint: str, states: type) -> None:
    *_, allowed = re.findall(rf"{constraint} check \(\s*\w+ in \(([^)]*)\)", SCHEMA)  # the last word
    assert set(re.findall(r"'(\w+)'", allowed)) == {state.value for state in states}


def test_every_state_has_its_steps() -> None:
    assert set(RUN_TRANSITIONS) == set(RunState)
    assert set(JOB_TRANSITIONS) == set(JobState)


def test_a_run_goes_its_way() -> None:
    path = [RunState.QUEUED, RunState.RUNNING, RunState.RETRYING, RunState.QUEUED, RunState.RUNNING, RunState.SUCCEEDED]
    assert all(run_may_become(*step) for step in pairwise(path))


def test_a_run_that_succeeded_stays_so() -> None:
    assert not any(run_may_become(RunState.SUCCEEDED, state) for state in RunState)


def test_only_a_redrive_leads_out_of_an_end() -> None:
    assert all(RUN_TRANSITIONS[state] <= {RunState.QUEUED} for state in FINISHED)


def test_a_run_is_taken_over_from_a_dead_worker() -> None:
    assert run_may_become(RunState.RUNNING, RunState.RUNNING)


def test_delete_wins() -> None:
    assert all(job_may_become(state, JobState.DELETED) for state in JobState if state is not JobState.DELETED)
    assert not any(job_may_become(JobState.DELETED, state) for state in JobState)
