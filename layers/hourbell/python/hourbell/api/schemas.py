"""What goes out, for the OpenAPI document. Replies are not built from these; tests hold every reply against them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from hourbell.domain.run_state import JobState, RunOrigin, RunState

Instant = Annotated[str, Field(json_schema_extra={"format": "date-time"}, examples=["2027-03-14T07:00:00.000Z"])]
Duration = Annotated[str, Field(examples=["PT30S"], description="ISO 8601")]
ShownJobState = Literal[JobState.ACTIVE, JobState.PAUSED, JobState.COMPLETED]


class Schema(BaseModel):
    """Closed: a reply has these fields and no others."""

    model_config = ConfigDict(extra="forbid")


class Cron(Schema):
    """A cron expression on the wall clock of a zone."""

    cron: str
    timezone: str
    gap: Literal["run", "skip"]
    repeat: Literal["once", "twice"]
    start_at: Instant | None
    end_at: Instant | None
    max_runs: int | None
    exclude: list[str]


class Every(Schema):
    """Elapsed time from an anchor."""

    every: Duration
    anchor: Instant
    timezone: str
    start_at: Instant | None
    end_at: Instant | None
    max_runs: int | None
    exclude: list[str]


class At(Schema):
    """One time, as it was written."""

    at: str
    timezone: str | None
    gap: Literal["run", "skip"]
    repeat: Literal["once", "twice"]


class Http(Schema):
    """An HTTP destination."""

    url: str
    method: Literal["POST", "PUT", "PATCH", "GET", "DELETE"]
    headers: dict[str, str]
    secret: str | None


class Lambda(Schema):
    """A Lambda function."""

    arn: str
    invocation: Literal["sync", "async"]


class Sqs(Schema):
    """An SQS queue."""

    queue_url: str
    message_group_id: str | None


class Sns(Schema):
    """An SNS topic."""

    topic_arn: str
    message_group_id: str | None


class Eventbridge(Schema):
    """An event bus, and what the event is called on it."""

    bus: str
    source: str
    detail_type: str


class StepFunctions(Schema):
    """A state machine."""

    state_machine_arn: str


class Pull(Schema):
    """Nothing is called: workers fetch the runs."""


def _no_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


def _absent(**options: Any) -> Any:
    """A member that is not there, rather than null, where the target is of another kind."""
    return Field(None, json_schema_extra=_no_default, **options)


class InlineTarget(Schema):
    """A destination that the job spells out: the member of its kind."""

    http: Http | SkipJsonSchema[None] = _absent()
    lambda_: Lambda | SkipJsonSchema[None] = _absent(alias="lambda")
    sqs: Sqs | SkipJsonSchema[None] = _absent()
    sns: Sns | SkipJsonSchema[None] = _absent()
    eventbridge: Eventbridge | SkipJsonSchema[None] = _absent()
    step_functions: StepFunctions | SkipJsonSchema[None] = _absent()
    pull: Pull | SkipJsonSchema[None] = _absent()


class CatchUp(Schema):
    """What happens to missed occurrences."""

    policy: Literal["run_once", "run_all", "skip"]
    within: Duration | None


class Retry(Schema):
    """How a failed run is attempted again."""

    max_attempts: int
    backoff: Literal["exponential", "fixed"]
    initial: Duration
    maximum: Duration
    max_age: Duration


class Job(Schema):
    """A job, and when it runs next."""

    id: str = Field(examples=["job_01hzy3v7q4e8s9m2k6x0w5t1ab"])
    state: ShownJobState
    version: int = Field(description="raised by every edit; the ETag holds it")
    tier: Literal["hot", "cold"]
    name: str | None
    schedule: Cron | Every | At
    target: str | InlineTarget
    payload: Any
    window: Duration | None
    catch_up: CatchUp
    overlap: Literal["allow", "skip", "buffer_one", "cancel_running"]
    retry: Retry
    timeout: Duration
    tags: dict[str, str]
    next_run_at: Instant | None = Field(description="the next occurrence that has not fired, by the schedule")
    next_runs: list[Instant] = Field(max_length=5)
    note: str | None = Field(description="why it was paused")
    error: str | None = Field(description="why it cannot be planned any more")
    created_at: Instant
    updated_at: Instant


class FieldProblem(Schema):
    """One bad field."""

    field: str = Field(examples=["schedule.cron"])
    detail: str


class JobCreated(Schema):
    """An item of a batch that is not atomic, created."""

    status: Literal[201]
    job: Job


class JobRefused(Schema):
    """An item of a batch that is not atomic, refused."""

    status: int
    errors: list[FieldProblem]


class JobBatch(Schema):
    """What became of each job, in the order in which they were sent: jobs, or results where each was for itself."""

    items: list[Job | JobCreated | JobRefused]


class Target(InlineTarget):
    """A destination with its limits: the member of its kind, and none for the others."""

    id: str = Field(examples=["tgt_01hzy3v7q4e8s9m2k6x0w5t1ab"])
    state: Literal["active", "paused"]
    version: int
    name: str | None
    rate_per_second: float | None
    burst: int | None
    max_concurrency: int | None
    created_at: Instant
    updated_at: Instant


class Key(Schema):
    """An API key. `previous_secret_expires_at`: until when the secret before its last rotation opens."""

    id: str = Field(examples=["key_01hzy3v7q4e8s9m2k6x0w5t1ab"])
    name: str
    scopes: list[str]
    created_at: Instant
    expires_at: Instant | None
    revoked_at: Instant | None
    last_used_at: Instant | None = Field(description="to the minute")
    previous_secret_expires_at: Instant | None


class FieldChange(Schema):
    """A field that was changed; long values are cut, and of headers only the names are kept."""

    field: str
    old: str | None
    new: str | None


class Change(Schema):
    """Who changed what, and when. `key` is null for what was not done through the API."""

    resource: str = Field(examples=["job_01hzy3v7q4e8s9m2k6x0w5t1ab"])
    action: str = Field(examples=["edited"])
    changes: list[FieldChange]
    key: str | None
    request_id: str | None
    recorded_at: Instant


class NewKey(Key):
    """A key with its secret; null in the replay of a request, for it is kept nowhere."""

    secret: str | None


class Quotas(Schema):
    """What a tenant may have at most; null: no limit."""

    max_jobs: int | None = Field(description="active and paused jobs")
    max_runs_per_minute: int | None = Field(description="occurrences that start within one minute of the clock")
    max_requests_per_second: int | None = Field(description="calls of the API, in the long run")


class Tenant(Schema):
    """A tenant, as an operator sees it."""

    id: str = Field(examples=["ten_01hzy3v7q4e8s9m2k6x0w5t1ab"])
    name: str
    quotas: Quotas
    jobs: int = Field(description="active and paused jobs")
    version: int
    created_at: Instant
    updated_at: Instant


class FirstKey(Schema):
    """The key that a tenant begins with, with every scope of a tenant."""

    id: str = Field(examples=["key_01hzy3v7q4e8s9m2k6x0w5t1ab"])
    secret: str | None = Field(description="null in the replay of a request, for it is kept nowhere")


class NewTenant(Tenant):
    """A tenant with its first key."""

    key: FirstKey


class Attempt(Schema):
    """One execution of a run."""

    number: int
    started_at: Instant
    finished_at: Instant | None
    outcome: Literal["succeeded", "failed", "timed_out", "crashed", "cancelled"] | None
    status_code: int | None
    error: str | None
    duration_ms: int | None


class Run(Schema):
    """The record of one occurrence."""

    id: str = Field(examples=["run_01hzy3v7q4e8s9m2k6x0w5t1ab"])
    job_id: str
    target_id: str
    origin: RunOrigin
    scheduled_for: Instant = Field(description="the nominal time")
    fire_at: Instant = Field(description="when it should really start")
    state: RunState
    reason: str | None
    attempt: int = Field(description="attempts made so far")
    lateness_ms: int | None = Field(
        description="start of the first attempt, since the run was last started over, minus fire_at"
    )
    progress: Any
    result: Any
    error: str | None
    started_at: Instant | None
    finished_at: Instant | None
    created_at: Instant
    attempts: list[Attempt]


class Missed(Schema):
    """Occurrences in a row that were not run."""

    first_scheduled_for: Instant
    last_scheduled_for: Instant
    occurrences: int = Field(description="how many, both ends included; counted up to a million")
    reason: str = Field(examples=["missed"])
    recorded_at: Instant


class Occurrence(Schema):
    """One time at which a schedule would run."""

    scheduled_for: Instant
    local: str
    note: str | None = Field(description="what a clock change did")


class Preview(Schema):
    """The next occurrences."""

    description: str | None = Field(
        examples=["At 02:30 AM, only on Monday"], description="the schedule in plain words; for people, not for parsing"
    )
    occurrences: list[Occurrence]


class SigningSecret(Schema):
    """The key of a target's signatures."""

    signing_secret: str | None = Field(examples=["whsec_…"], description="null where the target names a secret itself")
    secret: str | None = Field(description="the Secrets Manager name that the target signs with")


class SentCall(Schema):
    """What a target was sent. Secrets, and the values of the target's own headers, are shown as `***`."""

    method: str | None = Field(description="null for a target in AWS")
    to: str = Field(description="URL, ARN or bus", examples=["https://example.com/settle"])
    headers: dict[str, str] = Field(description="message attributes of `sqs` and `sns`")
    body: str = Field(description="its first 4,096 characters")


class TargetTest(Schema):
    """What came of one call of a target."""

    id: str = Field(examples=["run_01hzy3v7q4e8s9m2k6x0w5t1ab"], description="the run id that the target was given")
    state: Literal["pending", "finished"] = Field(
        description="pending: no worker had a result in time; the same request under its `Idempotency-Key` looks again"
    )
    outcome: Literal["succeeded", "failed", "timed_out"] | None
    status_code: int | None
    duration_ms: int | None
    error: str | None
    sent: SentCall | None


class Declaration(Schema):
    """What a declaration would do."""

    action: Literal["create", "update", "unchanged"]
    changes: list[str] = Field(examples=[["schedule", "payload"]], description="the members that would change")


class BackfilledOccurrence(Schema):
    """An occurrence of the span."""

    scheduled_for: Instant
    run_id: str
    existing: RunState | None = Field(description="the state of the run that it had; null: it gets one, or would")


class Backfill(Schema):
    """What a backfill runs, or would."""

    dry_run: bool
    runs: int = Field(description="occurrences that get a run, or would")
    existing: int = Field(description="occurrences that had one, which stays as it is")
    occurrences: list[BackfilledOccurrence] = Field(max_length=10_000)


class Lease(Schema):
    """The lease of a run that is being executed."""

    lease_expires_at: Instant


class LeasedRun(Schema):
    """A run that is the caller's to execute until its lease ends."""

    run_id: str = Field(examples=["run_01hzy3v7q4e8s9m2k6x0w5t1ab"])
    job_id: str
    scheduled_for: Instant = Field(description="the nominal time")
    fire_at: Instant = Field(description="when it should really start")
    attempt: int = Field(description="this one, from 1")
    lease_token: str = Field(description="proves the lease in heartbeats and at the end")
    lease_expires_at: Instant
    payload: Any
    progress: Any = Field(description="what the attempt before reported last")


class LeasedRuns(Schema):
    """What a worker of the target has to do."""

    runs: list[LeasedRun]


class Redrive(Schema):
    """What a redrive started over, or would."""

    dry_run: bool
    runs: int
    more: bool = Field(description="whether further runs match; call again")


class JobCounts(Schema):
    """Jobs by state; a one-off whose run is under way counts as completed."""

    active: int
    paused: int
    completed: int
    capped: bool = Field(description="whether only the newest 100,000 jobs were counted")


class RunCounts(Schema):
    """Runs whose time came since then, by state."""

    since: Instant
    queued: int
    running: int
    retrying: int
    succeeded: int
    dead: int
    cancelled: int
    skipped: int
    capped: bool = Field(description="whether only the latest 100,000 runs were counted; since then tells how far back")


class Lateness(Schema):
    """How late first attempts started, in milliseconds; null where none did."""

    p50: int | None
    p95: int | None
    p99: int | None


class Queues(Schema):
    """Of those runs, how many wait in each lane although their time has come."""

    shared: int
    solo: int
    pull: int


class ColdHour(Schema):
    """How many jobs of the cold tier are due in the hour that begins at ``hour``."""

    hour: Instant
    jobs: int


class ColdCounts(Schema):
    """The cold tier, hour by hour."""

    hours: list[ColdHour]
    capped: bool = Field(description="whether only the next 168 hours with jobs are there")


class Stats(Schema):
    """How the caller's jobs and runs are doing."""

    at: Instant
    jobs: JobCounts
    oldest_due_age_ms: int | None = Field(description="since when the most overdue job waits to be planned; null: none")
    runs: RunCounts
    lateness_ms: Lateness
    queues: Queues
    cold: ColdCounts


class Migrations(Schema):
    """Numbers of the latest migrations: in the database, and in this release."""

    applied: int | None
    expected: int


class ScannedRange(Schema):
    """A range of shards, and when a scanner last took it; ranges of an earlier division stay."""

    first_shard: int
    last_shard: int
    renewed_at: Instant | None


class Deployment(Schema):
    """How the deployment stands."""

    at: Instant = Field(description="by the clock of the API")
    database_at: Instant
    schema_: Migrations = Field(alias="schema")
    partitions_through: str | None = Field(description="the last day (UTC) that has partitions of its own")
    scanners: list[ScannedRange]


class Health(Schema):
    """It answers."""

    status: Literal["ok"]


class Problem(Schema):
    """Problem details (RFC 9457)."""

    type: str = Field(examples=["urn:hourbell:problem:bad-input"])
    title: str
    status: int
    detail: str
    errors: list[FieldProblem]


REPLIES: dict[str, type[Schema]] = {
    schema.__name__: schema
    for schema in (
        Job,
        JobBatch,
        Target,
        Change,
        Tenant,
        NewTenant,
        Key,
        NewKey,
        SigningSecret,
        TargetTest,
        Run,
        Missed,
        Preview,
        Declaration,
        Backfill,
        Lease,
        LeasedRuns,
        Redrive,
        Stats,
        Deployment,
        Health,
        Problem,
    )
}
