"""EventBridge schedules that start functions: at least once, up to a minute off. The functions are idempotent."""

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from cdk.constructs.function import HourbellFunction
from cdk.settings import StageSettings


class Ticks(Construct):
    """Starts one function at a fixed rate, once per input.

    By default a tick that cannot be delivered or fails is not tried again: the next one does the same work, and a late
    one would only find the lease taken.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        function: HourbellFunction,
        every: Duration,
        inputs: Mapping[str, Mapping[str, int]],
        description: str,
        retries: int = 0,
    ) -> None:
        super().__init__(scope, id)
        patience = Duration.hours(1) if retries else Duration.minutes(1)
        lambda_.EventInvokeConfig(
            self,
            "Invoke",
            function=function.function,
            qualifier=function.qualifier,
            retry_attempts=retries,
            max_event_age=patience,
        )
        for name, content in inputs.items():
            target = targets.LambdaFunction(
                function.entry,
                event=events.RuleTargetInput.from_object(dict(content)),
                retry_attempts=retries,
                max_event_age=patience,
            )
            schedule = events.Schedule.rate(every)
            events.Rule(self, name, schedule=schedule, targets=[target], description=description)


def scanner_inputs(settings: StageSettings) -> dict[str, Mapping[str, int]]:
    """One input per scanner: its range of shards."""
    ranges = enumerate(settings.shard_ranges())
    return {f"Shards{index}": {"first_shard": first, "last_shard": last} for index, (first, last) in ranges}
