"""The observability stack: alarms to a topic, and a dashboard."""

from aws_cdk import CfnOutput, Stack
from constructs import Construct

from cdk.constructs.alarms import Alarms, AlarmTopic
from cdk.constructs.dashboard import LANES, Dashboard
from cdk.constructs.metrics import Metrics
from cdk.settings import AuroraDatabase, StageSettings

# The wraparound of transaction ids stops a Postgres server at two billion.
TRANSACTION_IDS = 1_000_000_000
LAST_TRANSACTION_IDS = 1_500_000_000


class ObservabilityStack(Stack):
    """What wakes an operator, and the page to look at then. Output `AlarmTopicArn` takes subscriptions."""

    def __init__(self, scope: Construct, id: str, *, settings: StageSettings, api_id: str) -> None:
        super().__init__(scope, id, description=f"Hourbell {settings.name}: alarms and dashboard")
        self._settings = settings
        self._metrics = Metrics(settings=settings)
        topic = AlarmTopic(self, "AlarmTopic", prefix=settings.prefix, emails=settings.alarms.emails).topic
        self._alarms = Alarms(self, "Alarms", prefix=settings.prefix, topic=topic)
        self._watch_runs()
        self._watch_cold_tier()
        for lane in LANES:
            self._watch_lane(lane)
        for function in settings.functions:
            self._watch_function(function)
        self._watch_api(api_id)
        if isinstance(settings.database, AuroraDatabase):
            self._watch_database()
        Dashboard(self, "Dashboard", settings=settings, api_id=api_id, alarms=self._alarms.raised)
        CfnOutput(self, "AlarmTopicArn", value=topic.topic_arn, description="Subscribe here to hear of alarms")

    def _watch_runs(self) -> None:
        own, scanners = self._metrics.own, self._settings.scanners
        self._alarms.below(
            "scanner-heartbeat-missing",
            own("ScannerHeartbeat", "Sum"),
            scanners,
            periods=3,
            description=f"Fewer than {scanners} scans a minute for three minutes: due jobs are not claimed.",
        )
        self._alarms.above(
            "runs-dead", own("RunsDead", "Sum"), 0, description="Runs used up their attempts; redrive them once cured."
        )
        self._alarms.above(
            "jobs-invalid", own("JobsInvalid", "Sum"), 0, description="Jobs cannot be planned: see each job's error."
        )
        self._alarms.above(
            "runs-late",
            own("LatenessMs", "p99"),
            self._settings.alarms.lateness_p99_ms,
            periods=5,
            description="One run in a hundred starts late for five minutes.",
        )

        self._alarms.above(
            "runs-overdue",
            own("RunsOverdue", "Maximum"),
            0,
            periods=3,
            description="Runs should have started a minute ago and wait in a lane: its worker is stopped, or too slow.",
        )
        self._alarms.above(
            "jobs-paused",
            own("JobsPaused", "Sum"),
            0,
            description="Targets answered 410 Gone, and their jobs were paused.",
        )
        self._alarms.above(
            "events-untold",
            own("EventOldestSeconds", "Maximum"),
            self._settings.alarms.event_age_seconds,
            periods=3,
            description="The event bus refuses what happened to runs: nobody hears of dead ones, not even runs-dead.",
        )
        self._alarms.above(
            "runs-unpulled",
            own("PullOldestSeconds", "Maximum"),
            self._settings.alarms.pull_age_seconds,
            periods=3,
            description="The workers of a pull target are stopped, or too few: its oldest run waits long.",
        )

    def _watch_cold_tier(self) -> None:
        own = self._metrics.own
        self._alarms.below(
            "loader-heartbeat-missing",
            own("LoaderHeartbeat", "Sum"),
            1,
            periods=5,
            description="The loader does not run: far-future jobs do not become hot, and will be late in two hours.",
        )
        self._alarms.above(
            "cold-hours-late",
            own("ColdHoursLate", "Maximum"),
            0,
            description="An hour of the cold tier should have been promoted an hour ago: see the loader's log.",
        )
        self._alarms.above(
            "cold-segments-broken",
            own("ColdSegmentsBroken", "Maximum"),
            0,
            description="A segment is missing or damaged, and its jobs do not become hot: see cold_segment.error.",
        )
        self._alarms.above(
            "cold-segments-refused",
            own("ColdSegmentsRefused", "Maximum"),
            0,
            periods=5,
            description="S3 does not answer the freezer or the loader.",
        )

    def _watch_lane(self, lane: str) -> None:
        limits, metric = self._settings.alarms, self._metrics.lane
        self._alarms.above(
            f"{lane}-depth",
            metric(lane, "ApproximateNumberOfMessagesVisible"),
            limits.lane_depth,
            periods=5,
            description=f"Runs pile up in the {lane} lane: its worker cannot keep up.",
        )
        self._alarms.above(
            f"{lane}-age",
            metric(lane, "ApproximateAgeOfOldestMessage"),
            limits.lane_age_seconds,
            periods=3,
            description=f"A message has been in the {lane} lane for long: its worker is stopped, throttled or failing.",
        )
        self._alarms.above(
            f"{lane}-dead-letters",
            metric(f"{lane}-dead", "ApproximateNumberOfMessagesVisible"),
            0,
            description=f"Workers of the {lane} lane could not record outcomes; the reaper runs them again.",
        )

    def _watch_function(self, function: str) -> None:
        for name in ("Errors", "Throttles"):
            self._alarms.above(
                f"{function}-{name.lower()}",
                self._metrics.function(function, name),
                0,
                periods=2,
                description=f"{name} of the {function} function, two minutes in a row.",
            )

    def _watch_api(self, api_id: str) -> None:
        metric = self._metrics.api(api_id, "5xx")
        self._alarms.above("api-5xx", metric, 0, periods=3, description="The API answers 5xx, three minutes in a row.")

    def _watch_database(self) -> None:
        cluster = self._metrics.cluster
        self._alarms.above(
            "database-capacity",
            cluster("ACUUtilization"),
            90,
            periods=3,
            description="The database is at 90 % of its largest size: raise maximum_acu.",
        )
        self._alarms.above(
            "database-connections-borrow",
            self._metrics.proxy("DatabaseConnectionsBorrowLatency", "Average"),
            100_000,
            periods=3,
            description="Functions wait more than 100 ms (given in microseconds) for a database connection.",
        )
        self._alarms.above(
            "database-transaction-ids",
            cluster("MaximumUsedTransactionIDs"),
            TRANSACTION_IDS,
            description="Vacuum falls behind: halfway to the wraparound that stops Postgres.",
        )
        self._alarms.above(
            "database-transaction-ids-last",
            cluster("MaximumUsedTransactionIDs"),
            LAST_TRANSACTION_IDS,
            description="A quarter of all transaction ids is left: end what holds vacuum up, now.",
        )
