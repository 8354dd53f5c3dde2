"""What comes in: pydantic models for shape and type, the domain for meaning. Errors of both name the field.

Strict throughout: no number for a text, no ``true`` for a 1, no field that is not known. ``defer_build`` keeps the
schemas of models that a request does not touch out of the cold start.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    ValidationError,
)

from hourbell.api.strict_json import bad, dump
from hourbell.domain.durations import duration_ms, format_duration, parse_duration
from hourbell.domain.errors import FieldError, FieldErrors
from hourbell.domain.limits import (
    BATCH_MAX_JOBS,
    EXCLUDE_MAX_DATES,
    LEASE_MAX_RUNS,
    LEASE_MAX_WAIT_MS,
    MAX_ATTEMPTS_LIMIT,
    MAX_RUNS_LIMIT,
    NAME_MAX_LENGTH,
    NOTE_MAX_LENGTH,
    PAYLOAD_MAX_BYTES,
    PREVIEW_MAX,
    QUOTA_MAX,
    TAGS_MAX,
    TIMEOUT_MAX_MS,
    TIMEOUT_MIN_MS,
    WINDOW_MAX_MS,
)
from hourbell.domain.retry import parse_retry_policy
from hourbell.domain.schedule import Schedule, parse_schedule
from hourbell.domain.target_kind import TargetKind
from hourbell.services.jobs import JobDefinition
from hourbell.services.targets import TargetDefinition

MAX_ERRORS = 50
DEFAULT_TIMEOUT = "PT30S"
MAX_HEADERS = 50
# of AWS resources
MAX_NAME_LENGTH = 2_048

_TAG_NAME = re.compile(r"[A-Za-z0-9_./@-]{1,64}")

M = TypeVar("M", bound="Model")

# Answers what is stored of a kind's config. Raises FieldError or FieldErrors, by the names of the members.
CheckTarget = Callable[[TargetKind, Mapping[str, Any]], dict[str, Any]]


def _printable(text: str) -> str:
    has_control = not text.isprintable() and any(unicodedata.category(letter).startswith("C") for letter in text)
    if has_control or text != text.strip():
        raise ValueError("may not hold control characters, nor begin or end with a blank")
    return text


def _no_id(name: str) -> str:
    if name.startswith("tgt_"):
        raise ValueError("may not look like an id")
    return name


Text = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME_LENGTH), AfterValidator(_printable)]
# SQS, "SendMessage … MessageGroupId", read 2026-11
GroupId = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,128}$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=NAME_MAX_LENGTH), AfterValidator(_printable)]
Note = Annotated[str, StringConstraints(max_length=NOTE_MAX_LENGTH)]
Duration = Annotated[str, Field(examples=["PT30S", "5m", "1d"], description="ISO 8601, or 30s, 5m, 2h, 1d")]
Instant = Annotated[str, Field(examples=["2027-03-14T07:00:00.000Z"], json_schema_extra={"format": "date-time"})]


class Model(BaseModel):
    """Strict, closed, built at first use."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True, hide_input_in_errors=True)


class ScheduleIn(Model):
    """When a job runs: exactly one of `cron`, `every`, `at`."""

    cron: str | None = Field(None, examples=["0 2 * * *"], description="five fields, or six with seconds first")
    every: Duration | None = None
    anchor: Instant | None = Field(None, description="where `every` counts from; default: the creation")
    at: str | None = Field(None, examples=["2027-05-29T09:00:00"], description="RFC 3339; the offset may be left out")
    past: Literal["refuse", "run_now"] | None = Field(None, description="what to do with an `at` in the past")
    timezone: str | None = Field(None, examples=["Europe/Paris"], description="IANA name")
    gap: Literal["run", "skip"] | None = Field(None, description="a time that a clock change leaves out")
    repeat: Literal["once", "twice"] | None = Field(None, description="a time that a clock change brings twice")
    start_at: Instant | None = None
    end_at: Instant | None = None
    max_runs: int | None = Field(None, ge=1, le=MAX_RUNS_LIMIT)
    exclude: list[str] | None = Field(None, max_length=EXCLUDE_MAX_DATES, description="dates, in the schedule's zone")


class HttpIn(Model):
    """An HTTP destination."""

    url: str = Field(description="https; the host must resolve to public addresses only")
    method: Literal["POST", "PUT", "PATCH", "GET", "DELETE"] = "POST"
    headers: dict[str, str] = Field(default_factory=dict, max_length=MAX_HEADERS)
    secret: str | None = Field(
        None,
        max_length=512,
        examples=["hourbell/prod/targets/ten_01hzy3v7q4e8s9m2k6x0w5t1ab/billing"],
        description="Secrets Manager name of the key that signs the calls: hourbell/<stage>/targets/<tenant>/…",
    )


class LambdaIn(Model):
    """A Lambda function."""

    arn: Text = Field(examples=["arn:aws:lambda:eu-west-1:123456789012:function:settle:live"])
    invocation: Literal["sync", "async"] = Field("sync", description="whether the run waits for the function's outcome")


class SqsIn(Model):
    """An SQS queue."""

    queue_url: Text = Field(examples=["https://sqs.eu-west-1.amazonaws.com/123456789012/settlements.fifo"])
    message_group_id: GroupId | None = Field(None, description="default for FIFO queues: the job's id")


class SnsIn(Model):
    """An SNS topic."""

    topic_arn: Text = Field(examples=["arn:aws:sns:eu-west-1:123456789012:settlements"])
    message_group_id: GroupId | None = Field(None, description="default for FIFO topics: the job's id")


class EventbridgeIn(Model):
    """An event bus, and what the event is called on it."""

    bus: Text = Field(examples=["default"], description="name or ARN")
    source: Annotated[Text, StringConstraints(max_length=256)] = Field(examples=["payments"])
    detail_type: Annotated[Text, StringConstraints(max_length=128)] = Field(examples=["settlement due"])


class StepFunctionsIn(Model):
    """A state machine: one execution per run."""

    state_machine_arn: Text = Field(examples=["arn:aws:states:eu-west-1:123456789012:stateMachine:settle"])


class PullIn(Model):
    """Nothing is called: workers fetch the runs with `POST /v1/runs/lease`."""


class DestinationIn(Model):
    """What a target calls: exactly one kind."""

    http: HttpIn | None = None
    lambda_: LambdaIn | None = Field(None, alias="lambda")
    sqs: SqsIn | None = None
    sns: SnsIn | None = None
    eventbridge: EventbridgeIn | None = None
    step_functions: StepFunctionsIn | None = None
    pull: PullIn | None = None


# The fields of the model by kind: ``lambda`` is no name that Python takes.
_FIELDS = {kind: "lambda_" if kind is TargetKind.LAMBDA else kind.value for kind in TargetKind}


class InlineTargetIn(DestinationIn):
    """A destination spelled out in the job, of exactly one kind; equal ones share their limits."""


class TargetIn(DestinationIn):
    """A named destination of exactly one kind."""

    name: Annotated[Name, AfterValidator(_no_id)]
    rate_per_second: float | None = Field(None, ge=0.001, le=100_000, allow_inf_nan=False)
    burst: int | None = Field(None, ge=1, le=1_000_000)
    max_concurrency: int | None = Field(None, ge=1, le=100_000)


class KeyIn(Model):
    """An API key to be created."""

    name: Name = Field(examples=["ci"])
    scopes: list[
        Literal["jobs:read", "jobs:write", "runs:write", "targets:write", "keys:write", "admin", "operator"]
    ] = Field(
        min_length=1,
        max_length=20,
        description="no more than the key that asks has itself; `admin` has all but `operator`",
    )
    expires_at: Instant | None = Field(
        None, description="default: never; a key that ends makes only keys that end no later than it does"
    )


class QuotasIn(Model):
    """What a tenant may have at most; null: no limit."""

    max_jobs: int | None = Field(None, ge=0, le=QUOTA_MAX, description="active and paused jobs")
    max_runs_per_minute: int | None = Field(
        None, ge=1, le=QUOTA_MAX, description="occurrences that start within one minute; more start in those after it"
    )
    max_requests_per_second: int | None = Field(None, ge=1, le=QUOTA_MAX, description="calls of the API")


class TenantIn(Model):
    """A tenant to be created."""

    name: Name = Field(examples=["acme"])
    quotas: QuotasIn | None = Field(None, description="what is not named has a generous default")


class TenantPatchIn(Model):
    """A tenant's new quotas."""

    quotas: QuotasIn | None = None


class RotateIn(Model):
    """A key's secret is replaced."""

    grace: Duration = Field("P1D", description="how long the old secret still opens; at most 30 days")
    force: bool = Field(False, description="also while a secret still older opens, which ends with it")


class CatchUpIn(Model):
    """What happens to occurrences missed in an outage, or in a pause that is resumed with `catch_up`."""

    policy: Literal["run_once", "run_all", "skip"] = "run_once"
    within: Duration | None = Field(None, description="how far back; default: without limit")


class RetryIn(Model):
    """How a failed run is attempted again."""

    max_attempts: int | None = Field(None, ge=1, le=MAX_ATTEMPTS_LIMIT)
    backoff: Literal["exponential", "fixed"] | None = None
    initial: Duration | None = None
    maximum: Duration | None = None
    max_age: Duration | None = None


def _target_kind(value: object) -> str:
    return "~inline" if isinstance(value, dict | InlineTargetIn) else "~name"


class JobIn(Model):
    """A job to be created."""

    name: Name | None = None
    schedule: ScheduleIn
    # Tags of a union begin with "~": they are no fields, and error paths leave them out.
    target: Annotated[
        Annotated[Name, Tag("~name")] | Annotated[InlineTargetIn, Tag("~inline")], Discriminator(_target_kind)
    ]
    payload: Any = Field(None, description="any JSON up to 256 KiB; kept and delivered as it is spelled")
    window: Duration | None = None
    catch_up: CatchUpIn | None = None
    overlap: Literal["allow", "skip", "buffer_one", "cancel_running"] | None = None
    retry: RetryIn | None = None
    timeout: Duration | None = None
    tags: dict[str, Annotated[str, StringConstraints(max_length=256)]] | None = Field(None, max_length=TAGS_MAX)
    paused: bool = False


class JobBatchIn(Model):
    """Many jobs in one call."""

    jobs: list[Any] = Field(
        min_length=1, max_length=BATCH_MAX_JOBS, json_schema_extra={"items": {"$ref": "#/components/schemas/JobIn"}}
    )
    atomic: bool = Field(True, description="all or none; false: each for itself, with a result of its own")


class PauseIn(Model):
    """Why."""

    note: Note | None = None


class ResumeIn(Model):
    """What becomes of the occurrences of the pause."""

    missed: Literal["skip", "catch_up"] = "skip"


class TriggerIn(Model):
    """A payload for this run only."""

    payload: Any = None


class TargetTestIn(Model):
    """What a test sends to its target."""

    payload: Any = Field({"test": True}, description="any JSON up to 256 KiB; delivered as it is spelled")


class BackfillIn(Model):
    """A span of time whose occurrences are to be run."""

    model_config = ConfigDict(populate_by_name=True)

    from_: Instant = Field(alias="from", description="occurrences at this time or later")
    to: Instant = Field(description="and before this time, which may not lie in the future")
    dry_run: bool = Field(False, description="only tell")


class LeaseIn(Model):
    """A worker asks for runs of its target."""

    target: str = Field(max_length=NAME_MAX_LENGTH, description="name or id of a target of kind `pull`")
    wait: Duration = Field("PT0S", description="how long to wait for the first run, at most PT20S")
    max: int = Field(1, ge=1, le=LEASE_MAX_RUNS, description="how many at most; large payloads make them fewer")


class HeartbeatIn(Model):
    """The executing side of a run reports that it works on."""

    lease_token: str = Field(max_length=64, description="as the target received it in `Hourbell-Lease-Token`")
    progress: Any = Field(None, description="any JSON up to 4 KiB; a retry hands it to the target")


class CompleteIn(Model):
    """The executing side of a run has done it."""

    lease_token: str = Field(max_length=64, description="as the target received it in `Hourbell-Lease-Token`")
    result: Any = Field(None, description="any JSON up to 64 KiB; kept with the run")


class FailIn(Model):
    """The executing side of a run gives this attempt up."""

    lease_token: str = Field(max_length=64, description="as the target received it in `Hourbell-Lease-Token`")
    error: Annotated[str, StringConstraints(max_length=4_096)] = "reported by the target"
    retryable: bool = True


class RedriveFilterIn(Model):
    """Which ended runs; all conditions must hold."""

    model_config = ConfigDict(populate_by_name=True)

    state: Literal["dead", "cancelled", "skipped"] = "dead"
    job: str | None = Field(None, description="id of a job")
    target: str | None = Field(None, description="name or id of a target")
    from_: Instant | None = Field(None, alias="from", description="scheduled at this time or later")
    to: Instant | None = Field(None, description="scheduled before this time")


class RedriveIn(Model):
    """Runs to start over."""

    filter: RedriveFilterIn | None = Field(None, description="default: every dead run")
    dry_run: bool = Field(False, description="only count")


class PreviewIn(Model):
    """A schedule to try out."""

    schedule: ScheduleIn
    after: Instant | None = Field(None, description="default: now")
    count: int = Field(10, ge=1, le=PREVIEW_MAX)


class EmptyIn(Model):
    """No members."""


def validated(model: type[M], value: object) -> M:
    """The value as this model.

    Raises:
        FieldErrors: every bad field by its path.
    """
    if not isinstance(value, dict):
        raise bad("body", "must be a JSON object")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        raise FieldErrors(
            FieldError(_path(item["loc"]), _detail(item["type"], item["msg"])) for item in found[:MAX_ERRORS]
        ) from None


def job_definition(
    model: JobIn,
    value: Mapping[str, Any],
    payload: str,
    *,
    check_target: CheckTarget,
    now: datetime,
    schedule: Schedule | None = None,
    target_id: UUID | None = None,
) -> JobDefinition:
    """What the domain makes of a job; ``schedule`` and ``target_id`` are those of an edit that leaves them alone.

    Raises:
        FieldErrors: every bad field by its path.
    """
    check = _Collector()
    definition = {
        "schedule": schedule or check(lambda: parse_schedule(value["schedule"], now=now), None),
        "target": target_id or check(lambda: _job_target(model, check_target), ""),
        "window_ms": check(lambda: _milliseconds(model.window, "window", 0, WINDOW_MAX_MS), 0),
        "catch_up": check(lambda: _catch_up(model.catch_up), {}),
        "retry": check(lambda: parse_retry_policy(value.get("retry")), None),
        "timeout_ms": check(
            lambda: _milliseconds(model.timeout or DEFAULT_TIMEOUT, "timeout", TIMEOUT_MIN_MS, TIMEOUT_MAX_MS), 0
        ),
        "tags": check(lambda: _tags(model.tags or {}), {}),
        "payload": check(lambda: check_payload(payload), ""),
    }
    check.raise_all()
    return JobDefinition(name=model.name, overlap=model.overlap or "allow", paused=model.paused, **definition)


def target_definition(model: TargetIn, *, check_target: CheckTarget) -> TargetDefinition:
    """What is stored of a named target.

    Raises:
        FieldError, FieldErrors: every bad field by its path.
    """
    kind, config = _destination(model, check_target)
    return TargetDefinition(
        name=model.name,
        kind=kind,
        config=config,
        rate_per_second=model.rate_per_second,
        burst=model.burst,
        max_concurrency=model.max_concurrency,
    )


def check_payload(text: str) -> str:
    """The payload's text, unless it is too large; what counts is its compact form in UTF-8."""
    size = len(text.encode())
    if size > PAYLOAD_MAX_BYTES:
        raise FieldError("payload", f"has {size} bytes as compact JSON; at most {PAYLOAD_MAX_BYTES} are taken")
    return text


def lease_wait(model: LeaseIn) -> timedelta:
    """How long a worker waits for its first run."""
    return parse_duration(model.wait, field="wait", maximum_ms=LEASE_MAX_WAIT_MS)


class _Collector:
    """Runs checks one after the other, and raises what all of them found together."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []

    def __call__(self, check: Callable[[], Any], otherwise: Any) -> Any:
        try:
            return check()
        except (FieldError, FieldErrors) as error:
            self.errors.extend(error.errors)
            return otherwise

    def raise_all(self) -> None:
        if self.errors:
            raise FieldErrors(self.errors[:MAX_ERRORS])


def _job_target(model: JobIn, check_target: CheckTarget) -> str | TargetDefinition:
    if isinstance(model.target, str):
        return model.target
    try:
        kind, config = _destination(model.target, check_target)
    except (FieldError, FieldErrors) as error:
        raise error.under("target") from None
    if kind is TargetKind.PULL:
        raise FieldError("target.pull", "needs a target of its own, by whose name workers ask for its runs")
    return TargetDefinition(name=None, kind=kind, config=config)


def _destination(model: DestinationIn, check_target: CheckTarget) -> tuple[TargetKind, dict[str, Any]]:
    kind, given = _only_kind(model)
    try:
        return kind, check_target(kind, given.model_dump())
    except (FieldError, FieldErrors) as error:
        raise error.under(kind) from None


def _only_kind(model: DestinationIn) -> tuple[TargetKind, Model]:
    given = [(kind, value) for kind in TargetKind if (value := getattr(model, _FIELDS[kind])) is not None]
    if not given:
        kinds = ", ".join(kind for kind in TargetKind if kind is not TargetKind.HTTP)
        raise FieldError(TargetKind.HTTP, f"is required, or one of {kinds}")
    first, *others = given
    if others:
        raise FieldError(others[0][0], f"is given beside {first[0]}, and a target has one kind")
    return first


def _catch_up(model: CatchUpIn | None) -> dict[str, Any]:
    model = model or CatchUpIn(within=None)
    within = None if model.within is None else parse_duration(model.within, field="catch_up.within")
    return {"policy": model.policy, "within": None if within is None else format_duration(within)}


def _milliseconds(text: str | None, field: str, minimum_ms: int, maximum_ms: int) -> int:
    if text is None:
        return 0
    return duration_ms(parse_duration(text, field=field, minimum_ms=minimum_ms, maximum_ms=maximum_ms))


def _tags(tags: Mapping[str, str]) -> dict[str, str]:
    errors = [
        FieldError(f"tags.{name}", "a tag's name has 1 to 64 letters, digits, and _ . / @ -")
        for name in tags
        if not _TAG_NAME.fullmatch(name)
    ]
    if errors:
        raise FieldErrors(errors)
    return dict(tags)


def _path(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location if not str(part).startswith("~")) or "body"


_DETAILS = {"extra_forbidden": "is not a known field", "missing": "is required"}


def _detail(kind: str, message: str) -> str:
    return _DETAILS.get(kind) or message.removeprefix("Value error, ")


def mapping_text(members: Mapping[str, str]) -> str:
    """A JSON object of members that are JSON texts already."""
    return "{" + ",".join(f"{dump(name)}:{text}" for name, text in members.items()) + "}"
