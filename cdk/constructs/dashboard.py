"""One page: are runs on time, and if not, where do they wait?"""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from cdk.constructs.metrics import Metrics
from cdk.settings import AuroraDatabase, StageSettings

LANES = ("shared", "solo")


class Dashboard(Construct):
    """Alarms first, then the path of a run from left to right."""

    def __init__(
        self, scope: Construct, id: str, *, settings: StageSettings, api_id: str, alarms: list[cloudwatch.Alarm]
    ) -> None:
        super().__init__(scope, id)
        self._metrics = Metrics(settings=settings)
        self._settings = settings
        rows: list[list[cloudwatch.IWidget]] = [
            [cloudwatch.AlarmStatusWidget(title="Alarms", alarms=list(alarms), width=24, height=4)],
            self._runs(),
            self._lanes(),
            self._cold_tier(),
            self._functions(),
            [_graph("API", [self._metrics.api(api_id, name) for name in ("Count", "4xx", "5xx")])],
        ]
        if isinstance(settings.database, AuroraDatabase):
            rows.append(self._database())
        cloudwatch.Dashboard(
            self,
            "Page",
            dashboard_name=settings.prefix,
            default_interval=Duration.hours(3),
            widgets=rows,
        )

    def _runs(self) -> list[cloudwatch.IWidget]:
        own = self._metrics.own
        return [
            _graph("Planned", [own(name, "Sum") for name in ("RunsClaimed", "ScannerHeartbeat", "JobsReplanned")]),
            _graph("Lateness (ms)", [own("LatenessMs", statistic) for statistic in ("p50", "p95", "p99")]),
            _graph(
                "Trouble", [own(name, "Sum") for name in ("RunsRecovered", "RunsDead", "JobsPaused", "JobsInvalid")]
            ),
        ]

    def _lanes(self) -> list[cloudwatch.IWidget]:
        lane = self._metrics.lane
        dead = [lane(f"{name}-dead", "ApproximateNumberOfMessagesVisible") for name in LANES]
        return [
            _graph("Waiting", [lane(name, "ApproximateNumberOfMessagesVisible") for name in LANES]),
            _graph("Oldest message (s)", [lane(name, "ApproximateAgeOfOldestMessage") for name in LANES]),
            _graph("Dead letters", dead),
        ]

    def _cold_tier(self) -> list[cloudwatch.IWidget]:
        own = self._metrics.own
        trouble = ("ColdHoursLate", "ColdSegmentsBroken", "ColdSegmentsRefused")
        return [
            _graph("Cold jobs", [own(name, "Sum") for name in ("ColdJobsFrozen", "ColdJobsPromoted")]),
            _graph("Segments written", [own("ColdSegmentsWritten", "Sum")]),
            _graph("Cold tier in trouble", [own(name, "Maximum") for name in trouble]),
        ]

    def _functions(self) -> list[cloudwatch.IWidget]:
        function, names = self._metrics.function, sorted(self._settings.functions)
        return [
            _graph("Errors", [function(name, "Errors") for name in names]),
            _graph("Throttles", [function(name, "Throttles") for name in names]),
            _graph("Concurrent", [function(name, "ConcurrentExecutions", "Maximum") for name in names]),
        ]

    def _database(self) -> list[cloudwatch.IWidget]:
        cluster, proxy = self._metrics.cluster, self._metrics.proxy
        return [
            _graph("Database capacity (ACU)", [cluster("ServerlessDatabaseCapacity")]),
            _graph("Connections", [cluster("DatabaseConnections"), proxy("ClientConnections", "Sum")]),
            _graph("Waiting for a connection (µs)", [proxy("DatabaseConnectionsBorrowLatency", "Average")]),
        ]


def _graph(title: str, metrics: list[cloudwatch.Metric]) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=list(metrics), width=8)
