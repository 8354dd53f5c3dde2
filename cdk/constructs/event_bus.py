"""The bus on which users hear of dead runs and paused jobs: their rules subscribe to it."""

from collections.abc import Mapping

from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk.constructs.function import HourbellFunction
from cdk.settings import StageSettings


class RunEvents(Construct):
    """An event bus named after the stage. Events hold ids, reasons and errors, never payloads."""

    def __init__(self, scope: Construct, id: str, *, settings: StageSettings) -> None:
        super().__init__(scope, id)
        self.bus = events.EventBus(self, "Bus", event_bus_name=settings.prefix, description="Hourbell: run events")

    def environment(self) -> Mapping[str, str]:
        """What a function that tells events is told itself."""
        return {"HOURBELL_EVENT_BUS": self.bus.event_bus_name}

    def grant_tell(self, function: HourbellFunction) -> None:
        """Let the function put events on this bus."""
        function.role.add_to_policy(
            iam.PolicyStatement(actions=["events:PutEvents"], resources=[self.bus.event_bus_arn])
        )
