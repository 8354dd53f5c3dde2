"""What the API answers, typed. A test holds each against the API's own description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Literal, NotRequired, TypeAlias, TypedDict, TypeVar

T = TypeVar("T")

JsonObject: TypeAlias = Mapping[str, Any]


class Page(TypedDict, Generic[T]):
    """A page of a list; ``next_cursor`` is None on the last."""

    items: list[T]
    next_cursor: str | None


class Job(TypedDict):
    """A job, and when it runs next. ``target``: a name, or the destination that the job spells out."""

    id: str
    state: Literal["active", "paused", "completed"]
    version: int
    tier: Literal["hot", "cold"]
    name: str | None
    schedule: dict[str, Any]
    target: Any
    payload: Any
    window: str | None
    catch_up: dict[str, Any]
    overlap: str
    retry: dict[str, Any]
    timeout: str
    tags: dict[str, str]
    next_run_at: str | None
    next_runs: list[str]
    note: str | None
    error: str | None
    created_at: str
    updated_at: str


class FieldProblem(TypedDict):
    """One bad field."""

    field: str
    detail: str


class JobCreated(TypedDict):
    """An item of a batch that is not atomic, created."""

    status: Literal[201]
    job: Job


class JobRefused(TypedDict):
    """An item of a batch that is not atomic, refused."""

    status: int
    errors: list[FieldProblem]


class JobBatch(TypedDict):
    """What became of each job, in the order in which they were sent: jobs, or results where each was for itself."""

    items: list[Any]


class Attempt(TypedDict):
    """One execution of a run."""

    number: int
    started_at: str
    finished_at: str | None
    outcome: str | None
    status_code: int | None
    error: str | None
    duration_ms: int | None


class Run(TypedDict):
    """The record of one occurrence."""

    id: str
    job_id: str
    target_id: str
    origin: str
    scheduled_for: str
    fire_at: str
    state: str
    reason: str | None
    attempt: int
    lateness_ms: int | None
    progress: Any
    result: Any
    error: str | None
    started_at: str | None
    finished_at: str | None
    created_at: str
    attempts: list[Attempt]


class Missed(TypedDict):
    """Occurrences in a row that were not run."""

    first_scheduled_for: str
    last_scheduled_for: str
    occurrences: int
    reason: str
    recorded_at: str


# By another spelling, because of ``lambda``: the member of the target's kind, and none for the others.
_TargetKinds = TypedDict(
    "_TargetKinds",
    {
        "http": NotRequired[dict[str, Any]],
        "lambda": NotRequired[dict[str, Any]],
        "sqs": NotRequired[dict[str, Any]],
        "sns": NotRequired[dict[str, Any]],
        "eventbridge": NotRequired[dict[str, Any]],
        "step_functions": NotRequired[dict[str, Any]],
        "pull": NotRequired[dict[str, Any]],
    },
)


class Target(_TargetKinds):
    """A destination with its limits."""

    id: str
    state: Literal["active", "paused"]
    version: int
    name: str
    rate_per_second: float | None
    burst: int | None
    max_concurrency: int | None
    created_at: str
    updated_at: str


class Key(TypedDict):
    """An API key; ``previous_secret_expires_at``: until when the secret before its last rotation opens."""

    id: str
    name: str
    scopes: list[str]
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None
    previous_secret_expires_at: str | None


class NewKey(Key):
    """A key with its secret; None where the answer is that of a request before."""

    secret: str | None


class FieldChange(TypedDict):
    """A field that was changed; long values are cut."""

    field: str
    old: str | None
    new: str | None


class Change(TypedDict):
    """Who changed what, and when; ``key`` is None for what was not done through the API."""

    resource: str
    action: str
    changes: list[FieldChange]
    key: str | None
    request_id: str | None
    recorded_at: str


class SigningSecret(TypedDict):
    """The key of a target's signatures; None where the target names a secret of its own."""

    signing_secret: str | None
    secret: str | None


class SentCall(TypedDict):
    """What a target was sent; secrets, and the values of its own headers, are ``***``."""

    method: str | None
    to: str
    headers: dict[str, str]
    body: str


class TargetTest(TypedDict):
    """What came of one call of a target; ``state``: finished, or pending, and all else is None."""

    id: str
    state: str
    outcome: str | None
    status_code: int | None
    duration_ms: int | None
    error: str | None
    sent: SentCall | None


class Occurrence(TypedDict):
    """One nominal time of a schedule."""

    scheduled_for: str
    local: str
    note: str | None


class Preview(TypedDict):
    """The next occurrences of a schedule; ``description``: the schedule in plain words."""

    description: str | None
    occurrences: list[Occurrence]


class Declaration(TypedDict):
    """What a declaration would do; ``changes``: the members that would change."""

    action: Literal["create", "update", "unchanged"]
    changes: list[str]


class BackfilledOccurrence(TypedDict):
    """An occurrence of a backfill; ``existing``: the state of the run that it had, None where it gets one, or would."""

    scheduled_for: str
    run_id: str
    existing: str | None


class Backfill(TypedDict):
    """What a backfill runs, or would."""

    dry_run: bool
    runs: int
    existing: int
    occurrences: list[BackfilledOccurrence]


class Quotas(TypedDict):
    """What a tenant may have at most; None: no limit."""

    max_jobs: int | None
    max_runs_per_minute: int | None
    max_requests_per_second: int | None


class Tenant(TypedDict):
    """A tenant, as an operator sees it. ``jobs``: how many are active or paused."""

    id: str
    name: str
    quotas: Quotas
    jobs: int
    version: int
    created_at: str
    updated_at: str


class FirstKey(TypedDict):
    """The key that a tenant begins with; ``secret`` is shown this once."""

    id: str
    secret: str | None


class NewTenant(Tenant):
    """A tenant with its first key."""

    key: FirstKey


class Lease(TypedDict):
    """The lease of a run that is being executed."""

    lease_expires_at: str


class LeasedRun(TypedDict):
    """A run that is the caller's to execute until its lease ends."""

    run_id: str
    job_id: str
    scheduled_for: str
    fire_at: str
    attempt: int
    lease_token: str
    lease_expires_at: str
    payload: Any
    progress: Any


class LeasedRuns(TypedDict):
    """What a worker of the target has to do."""

    runs: list[LeasedRun]


class Redrive(TypedDict):
    """What a redrive started over, or would; ``more``: further runs match, call again."""

    dry_run: bool
    runs: int
    more: bool


class Stats(TypedDict):
    """How the caller's jobs and runs are doing; runs are those of the last hour."""

    at: str
    jobs: dict[str, Any]
    oldest_due_age_ms: int | None
    runs: dict[str, Any]
    lateness_ms: dict[str, int | None]
    queues: dict[str, int]
    cold: dict[str, Any]


class Deployment(TypedDict):
    """How the deployment stands, for its operators."""

    at: str
    database_at: str
    schema: dict[str, int | None]
    partitions_through: str | None
    scanners: list[dict[str, Any]]


class Health(TypedDict):
    """It answers."""

    status: Literal["ok"]


JobPage: TypeAlias = Page[Job]
RunPage: TypeAlias = Page[Run]
