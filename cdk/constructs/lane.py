"""A lane: the delay queue that carries runs to a worker, and its dead-letter queue."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda_event_sources as event_sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cdk.constructs.function import HourbellFunction
from cdk.settings import FunctionSettings, LaneSettings

DEAD_LETTER_DAYS = 14


class Lane(Construct):
    """Queue and dead-letter queue, both encrypted by SQS and closed to plain HTTP.

    A message names a run and carries nothing secret, so that SQS's own keys suffice; the run itself is in Postgres,
    where its `wake_at` sends it again if the message is lost.
    """

    def __init__(
        self, scope: Construct, id: str, *, prefix: str, name: str, lane: LaneSettings, worker: FunctionSettings
    ) -> None:
        super().__init__(scope, id)
        self._lane = lane
        self.visibility_seconds = lane.visibility_seconds(worker)
        self.dead_letters = self._queue(
            "DeadLetters", f"{prefix}-{name}-dead", retention_period=Duration.days(DEAD_LETTER_DAYS)
        )
        self.queue = self._queue(
            "Queue",
            f"{prefix}-{name}",
            visibility_timeout=Duration.seconds(self.visibility_seconds),
            dead_letter_queue=sqs.DeadLetterQueue(max_receive_count=lane.max_receives, queue=self.dead_letters),
        )

    def _queue(
        self,
        id: str,
        name: str,
        *,
        retention_period: Duration | None = None,
        visibility_timeout: Duration | None = None,
        dead_letter_queue: sqs.DeadLetterQueue | None = None,
    ) -> sqs.Queue:
        return sqs.Queue(
            self,
            id,
            queue_name=name,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            removal_policy=RemovalPolicy.DESTROY,
            retention_period=retention_period,
            visibility_timeout=visibility_timeout,
            dead_letter_queue=dead_letter_queue,
        )

    def feed(self, worker: HourbellFunction) -> None:
        """Deliver to the worker, which may then receive, extend and delete messages of this lane."""
        pollers = self._lane.pollers
        source = event_sources.SqsEventSource(
            self.queue,
            batch_size=self._lane.batch_size,
            max_batching_window=Duration.seconds(self._lane.batching_window_seconds),
            max_concurrency=self._lane.max_concurrency,
            provisioned_poller_config=(
                {"minimum_pollers": pollers.minimum, "maximum_pollers": pollers.maximum} if pollers else None
            ),
            report_batch_item_failures=True,
        )
        worker.entry.add_event_source(source)

    def grant_send(self, function: HourbellFunction) -> None:
        """Let the function send runs to this lane."""
        self._grant(function, "sqs:SendMessage")

    def grant_watch(self, function: HourbellFunction) -> None:
        """Let the function see how deep this lane is."""
        self._grant(function, "sqs:GetQueueAttributes")

    def _grant(self, function: HourbellFunction, action: str) -> None:
        function.role.add_to_policy(iam.PolicyStatement(actions=[action], resources=[self.queue.queue_arn]))
