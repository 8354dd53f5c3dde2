"""States and the steps between them; equal to the SQL constraints, which a test holds them to."""

from __future__ import annotations

from enum import StrEnum

from hourbell.domain.target_kind import TargetKind


class RunState(StrEnum):
    """Where a run stands."""

    QUEUED = "queued"
    RUNNING = "running"
    RETRYING = "retrying"
    SUCCEEDED = "succeeded"
    DEAD = "dead"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


class JobState(StrEnum):
    """Where a job stands."""

    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"
    DELETED = "deleted"


class Lane(StrEnum):
    """`shared` is batched and short; `solo` takes long runs, and runs whose last worker died.

    `pull` has no queue: its runs wait in the database until a worker of their target asks for them.
    """

    SHARED = "shared"
    SOLO = "solo"
    PULL = "pull"


QUEUES = (Lane.SHARED, Lane.SOLO)

# Runs that may take longer go to the solo lane, where they hold up nobody's batch.
SHARED_TIMEOUT_MS = 30_000


def lane_for(timeout_ms: int, target_kind: str) -> Lane:
    """The lane of a fresh run."""
    if target_kind == TargetKind.PULL:
        return Lane.PULL
    return Lane.SHARED if timeout_ms <= SHARED_TIMEOUT_MS else Lane.SOLO


class RunOrigin(StrEnum):
    """What asked for the run."""

    SCHEDULE = "schedule"
    TRIGGER = "trigger"
    BACKFILL = "backfill"


FINISHED = frozenset({RunState.SUCCEEDED, RunState.DEAD, RunState.CANCELLED, RunState.SKIPPED})

# running → running is a takeover after the lease ended; only a redrive leads out of a finished state.
RUN_TRANSITIONS: dict[RunState, frozenset[RunState]] = {
    RunState.QUEUED: frozenset({RunState.RUNNING, RunState.CANCELLED, RunState.SKIPPED, RunState.DEAD}),
    RunState.RUNNING: frozenset(
        {
            RunState.RUNNING,
            RunState.QUEUED,
            RunState.RETRYING,
            RunState.SUCCEEDED,
            RunState.DEAD,
            RunState.CANCELLED,
        }
    ),
    RunState.RETRYING: frozenset(
        {RunState.QUEUED, RunState.RUNNING, RunState.CANCELLED, RunState.SKIPPED, RunState.DEAD}
    ),
    RunState.SUCCEEDED: frozenset(),
    RunState.DEAD: frozenset({RunState.QUEUED}),
    RunState.CANCELLED: frozenset({RunState.QUEUED}),
    RunState.SKIPPED: frozenset({RunState.QUEUED}),
}

# completed → active: a finished job gets a new schedule.
JOB_TRANSITIONS: dict[JobState, frozenset[JobState]] = {
    JobState.ACTIVE: frozenset({JobState.PAUSED, JobState.COMPLETED, JobState.DELETED}),
    JobState.PAUSED: frozenset({JobState.ACTIVE, JobState.COMPLETED, JobState.DELETED}),
    JobState.COMPLETED: frozenset({JobState.ACTIVE, JobState.PAUSED, JobState.DELETED}),
    JobState.DELETED: frozenset(),
}


def run_may_become(current: RunState, following: RunState) -> bool:
    """Whether a run may take this step."""
    return following in RUN_TRANSITIONS[current]


def job_may_become(current: JobState, following: JobState) -> bool:
    """Whether a job may take this step."""
    return following in JOB_TRANSITIONS[current]
