"""Where stages differ, and nowhere else: one frozen `StageSettings` per stage.

A stage of your own is another entry in `STAGES`; `cdk deploy -c stage=<name>` picks it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Literal

# hourbell.domain.limits.SHARDS; a test holds the two together, so that synthesising needs no runtime package.
SHARDS = 128

# Lambda: "set the visibility timeout to six times your function timeout, plus the value of
# MaximumBatchingWindowInSeconds" (AWS Lambda developer guide, "Using Lambda with Amazon SQS", read 2026-11).
VISIBILITY_FACTOR = 6

# SQS event source mappings (CloudFormation template reference: ScalingConfig, ProvisionedPollerConfig; read 2026-11).
MAX_CONCURRENCY_RANGE = range(2, 1001)
MINIMUM_POLLERS_RANGE = range(2, 201)
MAXIMUM_POLLERS_RANGE = range(2, 2001)

# An ARN of something that a target may name; every part may hold wildcards but the service.
_TARGET_PATTERN = re.compile(
    r"arn:(?:aws[a-z-]*|\{partition\}):(?:events|lambda|sns|sqs|states):(?:[a-z0-9*?-]+|\{region\}):"
    r"(?:[0-9*?]+|\{account\}):[A-Za-z0-9$_.:/*?-]+"
)
# Lambda: all environment variables of a function together have at most 4 KB.
ALLOWED_TARGETS_LENGTH = 2_000

LaneName = Literal["shared", "solo"]


class StageError(ValueError):
    """A stage that cannot be deployed as it is written."""


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise StageError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSettings:
    """Size and cold start of one Lambda function.

    `snap_start` restores new environments from a snapshot taken at deploy; `provisioned` keeps that many environments
    ready. Lambda takes one or the other. Memory also buys CPU: 1,769 MB is one core.
    """

    memory_mb: int
    timeout_seconds: int
    snap_start: bool = False
    provisioned: int = 0

    def __post_init__(self) -> None:
        _require(not (self.snap_start and self.provisioned), "snap_start and provisioned exclude each other")
        _require(1 <= self.timeout_seconds <= 900, "timeout_seconds must be 1 to 900")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pollers:
    """Provisioned pollers of a lane: ready for a midnight spike, billed by the hour."""

    minimum: int
    maximum: int

    def __post_init__(self) -> None:
        _require(self.minimum in MINIMUM_POLLERS_RANGE, "pollers.minimum must be 2 to 200")
        _require(self.maximum in MAXIMUM_POLLERS_RANGE, "pollers.maximum must be 2 to 2,000")
        _require(self.minimum <= self.maximum, "pollers.minimum must not exceed pollers.maximum")


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneSettings:
    """One lane: how its worker is fed.

    A worker is occupied by a batch while it holds it, so that steady throughput is
    (max_concurrency x batch_size) / (hold + target time). Lambda scales by `max_concurrency` or by `pollers`, not both.
    """

    batch_size: int
    max_concurrency: int | None = None
    pollers: Pollers | None = None
    batching_window_seconds: int = 0
    # Retries never use receives up; these are for workers that could not record an outcome.
    max_receives: int = 5

    def __post_init__(self) -> None:
        _require(
            (self.max_concurrency is None) != (self.pollers is None),
            "a lane takes max_concurrency or pollers: they exclude each other",
        )
        _require(
            self.max_concurrency is None or self.max_concurrency in MAX_CONCURRENCY_RANGE,
            "max_concurrency must be 2 to 1,000",
        )

    def visibility_seconds(self, function: FunctionSettings) -> int:
        """How long a delivered message stays hidden from other workers."""
        return VISIBILITY_FACTOR * function.timeout_seconds + self.batching_window_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    """The VPC. Workers reach targets on the internet through the NAT gateways; nothing else leaves.

    `nat_gateways` = one per zone keeps egress when a zone is lost; 1 is cheaper; 0 leaves the workers no way to public
    targets (private ones, and AWS services with an endpoint in `endpoints`, still work).
    """

    cidr: str = "10.20.0.0/16"
    nat_gateways: int = 3
    # Interface endpoints, by service name. Logs and metrics need none: Lambda's own log path does not use the VPC.
    endpoints: tuple[str, ...] = ("sqs", "secretsmanager", "events")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraDatabase:
    """Aurora PostgreSQL Serverless v2: a writer, a reader in another zone, RDS Proxy in front."""

    minimum_acu: float = 1
    maximum_acu: float = 32
    backup_days: int = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnDatabase:
    """Bring your own Postgres 16+: `conninfo` is libpq's, without a password, with `{role}` for the database role."""

    conninfo: str

    def __post_init__(self) -> None:
        _require("{role}" in self.conninfo, "the database's conninfo must contain user={role}")
        _require("password" not in self.conninfo, "a conninfo with a password would end up in the template")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings:
    """The HTTP API's front door."""

    # A revoked key works until its cached answer ends.
    authorizer_cache_seconds: int
    requests_per_second: int
    burst: int
    # Origins whose pages may call the API from a browser, as https://console.example.com; none by default.
    cors_origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmSettings:
    """When operators are woken. E-mail addresses get a confirmation request at deploy."""

    emails: tuple[str, ...] = ()
    lane_depth: int = 50_000
    # A message's age counts from its sending: delays of up to 15 minutes are part of it.
    lane_age_seconds: int = 1_200
    lateness_p99_ms: int = 2_000
    # Runs of pull targets wait as long as nobody asks for them.
    pull_age_seconds: int = 900
    event_age_seconds: int = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSettings:
    """Everything that may differ from stage to stage."""

    name: str
    database: AuroraDatabase | OwnDatabase
    # None: functions run outside a VPC
    network: NetworkSettings | None
    functions: Mapping[str, FunctionSettings]
    lanes: Mapping[LaneName, LaneSettings]
    api: ApiSettings
    alarms: AlarmSettings = AlarmSettings()
    scanners: int = 1
    horizon_seconds: int = 120
    # SQS counts delays in whole seconds; workers take messages this much early and wait in memory.
    hold_seconds: float = 1
    # How long whoever executes a run may be silent before another takes over, and how often a worker speaks up.
    lease_seconds: int = 60
    heartbeat_seconds: int = 20
    cell: int = 0
    private_targets: Literal["allow", "refuse"] = "refuse"
    # The AWS resources that targets may name, as ARNs in which * and ? stand for any letters and any one letter;
    # {partition}, {region} and {account} are the stage's own. The workers' policy is made of them: see docs/targets.md.
    allowed_targets: tuple[str, ...] = ()
    log_retention_days: int = 30
    tracing: bool = False
    # A versioned bucket for the cold tier that is there already; None: one of the stack's own.
    own_cold_bucket: str | None = None
    # Keep data and refuse deletion when a stack goes away.
    keep_data: bool = True
    # Which build of the layers: see cdk.build_layers
    layers: Literal["aws", "local"] = "aws"
    architecture: Literal["arm64", "x86_64"] = "arm64"

    def __post_init__(self) -> None:
        _require(1 <= self.scanners <= SHARDS, f"scanners must be 1 to {SHARDS}")
        _require(1 <= self.horizon_seconds <= 900, "horizon_seconds must be 1 to 900, the longest SQS delay")
        _require(0 < 2 * self.heartbeat_seconds < self.lease_seconds, "a lease must outlive two heartbeats")
        _require(set(self.lanes) == {"shared", "solo"}, "the lanes are shared and solo")
        for pattern in self.allowed_targets:
            _require(_TARGET_PATTERN.fullmatch(pattern) is not None, f"allowed_targets: {pattern!r} is no such ARN")
        length = len(" ".join(self.allowed_targets))
        _require(length <= ALLOWED_TARGETS_LENGTH, f"allowed_targets has {length} letters: wildcards make it shorter")
        aurora = isinstance(self.database, AuroraDatabase)
        _require(not aurora or self.network is not None, "Aurora needs a network")

    @property
    def prefix(self) -> str:
        """What the names of this stage's functions, lanes and alarms open with."""
        return f"hourbell-{self.name}"

    def shard_ranges(self) -> list[tuple[int, int]]:
        """The first and last shard of each scanner: every shard once, as evenly as whole numbers allow."""
        edges = [SHARDS * index // self.scanners for index in range(self.scanners + 1)]
        return [(first, after - 1) for first, after in pairwise(edges)]


PROD = StageSettings(
    name="prod",
    database=AuroraDatabase(),
    network=NetworkSettings(),
    functions=MappingProxyType(
        {
            "api": FunctionSettings(memory_mb=1024, timeout_seconds=29, snap_start=True),
            "authorizer": FunctionSettings(memory_mb=1024, timeout_seconds=10, snap_start=True),
            "scanner": FunctionSettings(memory_mb=1769, timeout_seconds=60),
            "reaper": FunctionSettings(memory_mb=1769, timeout_seconds=60),
            "freezer": FunctionSettings(memory_mb=1769, timeout_seconds=300),
            "loader": FunctionSettings(memory_mb=1769, timeout_seconds=300),
            "worker-shared": FunctionSettings(memory_mb=1024, timeout_seconds=120, snap_start=True),
            "worker-solo": FunctionSettings(memory_mb=512, timeout_seconds=900, snap_start=True),
            "partitioner": FunctionSettings(memory_mb=512, timeout_seconds=300),
            "replanner": FunctionSettings(memory_mb=1769, timeout_seconds=900),
            "migrator": FunctionSettings(memory_mb=512, timeout_seconds=900),
        }
    ),
    lanes=MappingProxyType(
        {
            "shared": LaneSettings(batch_size=10, max_concurrency=100),
            "solo": LaneSettings(batch_size=1, max_concurrency=50),
        }
    ),
    api=ApiSettings(authorizer_cache_seconds=60, requests_per_second=2_000, burst=4_000),
    scanners=2,
)

_LOCAL_FUNCTION = FunctionSettings(memory_mb=512, timeout_seconds=60)

LOCAL = StageSettings(
    name="local",
    database=OwnDatabase(conninfo="host=127.0.0.1 port=5432 dbname=hourbell user={role}"),
    network=None,
    functions=MappingProxyType(
        {
            "api": replace(_LOCAL_FUNCTION, timeout_seconds=29),
            "authorizer": replace(_LOCAL_FUNCTION, timeout_seconds=10),
            "scanner": _LOCAL_FUNCTION,
            "reaper": _LOCAL_FUNCTION,
            "freezer": _LOCAL_FUNCTION,
            "loader": _LOCAL_FUNCTION,
            "worker-shared": replace(_LOCAL_FUNCTION, timeout_seconds=120),
            "worker-solo": replace(_LOCAL_FUNCTION, timeout_seconds=900),
            "partitioner": _LOCAL_FUNCTION,
            "replanner": _LOCAL_FUNCTION,
            "migrator": replace(_LOCAL_FUNCTION, timeout_seconds=300),
        }
    ),
    # Every concurrent batch is a process of its own (65 MB) on the laptop's few cores, and is held for up to three
    # seconds: hold_seconds, and the part of a second that SQS does not count. Ten workers carry 33 runs a second. With
    # six, 20 a second kept all of them busy, and runs waited past their moment.
    lanes=MappingProxyType(
        {
            "shared": LaneSettings(batch_size=10, max_concurrency=10),
            "solo": LaneSettings(batch_size=1, max_concurrency=2),
        }
    ),
    api=ApiSettings(authorizer_cache_seconds=5, requests_per_second=1_000, burst=1_000),
    # The emulator looks for due messages once a second.
    hold_seconds=2,
    private_targets="allow",
    allowed_targets=(
        "arn:{partition}:lambda:{region}:{account}:function:*",
        "arn:{partition}:sqs:{region}:{account}:*",
        "arn:{partition}:sns:{region}:{account}:*",
        "arn:{partition}:events:{region}:{account}:event-bus/*",
        "arn:{partition}:states:{region}:{account}:stateMachine:*",
    ),
    # The emulator forgets its stacks when it ends; segments must last as long as the database (hourbell.local.cold).
    own_cold_bucket="hourbell-local-cold",
    log_retention_days=1,
    keep_data=False,
    layers="local",
)

STAGES: Mapping[str, StageSettings] = MappingProxyType({stage.name: stage for stage in (PROD, LOCAL)})


def stage_settings(name: str, *, database: str | None = None) -> StageSettings:
    """A stage by name; `database` replaces the conninfo of one that brings its own Postgres."""
    _require(name in STAGES, f"no stage {name!r}: there are {', '.join(STAGES)}")
    settings = STAGES[name]
    if database is None:
        return settings
    _require(isinstance(settings.database, OwnDatabase), f"stage {name!r} has a database of its own")
    return replace(settings, database=OwnDatabase(conninfo=database))
