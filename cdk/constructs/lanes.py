"""Both lanes, as the functions see them."""

from collections.abc import Mapping

from constructs import Construct

from cdk.constructs.function import HourbellFunction
from cdk.constructs.lane import Lane
from cdk.settings import LaneName, StageSettings


class Lanes(Construct):
    """`shared` runs batches; `solo` runs one at a time: long runs, and those whose last worker died."""

    def __init__(self, scope: Construct, id: str, *, settings: StageSettings) -> None:
        super().__init__(scope, id)
        self._hold_seconds = settings.hold_seconds
        self.shared = self._lane("Shared", "shared", settings)
        self.solo = self._lane("Solo", "solo", settings)

    def _lane(self, id: str, name: LaneName, settings: StageSettings) -> Lane:
        worker = settings.functions[f"worker-{name}"]
        return Lane(self, id, prefix=settings.prefix, name=name, lane=settings.lanes[name], worker=worker)

    def environment(self) -> Mapping[str, str]:
        """What a function that sends to the lanes is told."""
        return {
            "HOURBELL_LANE_SHARED_URL": self.shared.queue.queue_url,
            "HOURBELL_LANE_SOLO_URL": self.solo.queue.queue_url,
            "HOURBELL_HOLD_SECONDS": f"{self._hold_seconds:g}",
        }

    def grant_send(self, function: HourbellFunction) -> None:
        """Let the function send runs to either lane."""
        self.shared.grant_send(function)
        self.solo.grant_send(function)

    def grant_watch(self, function: HourbellFunction) -> None:
        """Let the function see how deep the lanes are."""
        self.shared.grant_watch(function)
        self.solo.grant_watch(function)
