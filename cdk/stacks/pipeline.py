"""The pipeline stack: from the hot table through the lanes to the targets."""

from collections.abc import Mapping

from aws_cdk import CfnOutput, Duration, Stack
from constructs import Construct

from cdk.constructs.allowed_targets import allowed_targets_environment, grant_call_targets
from cdk.constructs.database import DatabaseRole
from cdk.constructs.event_bus import RunEvents
from cdk.constructs.function import HourbellFunction, Workshop
from cdk.constructs.lane import Lane
from cdk.constructs.lanes import Lanes
from cdk.constructs.layers import Layers
from cdk.constructs.place import Place, Places, Sources
from cdk.constructs.secrets import grant_read_target_secrets
from cdk.constructs.ticks import Ticks, scanner_inputs
from cdk.settings import StageSettings
from cdk.stacks.data import DataStack


class PipelineStack(Stack):
    """Lanes, scanner, reaper, workers; freezer and loader of the cold tier; partitioner and replanner once a day."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        settings: StageSettings,
        sources: Sources,
        places: Places | None,
        data: DataStack,
    ) -> None:
        super().__init__(scope, id, description=f"Hourbell {settings.name}: lanes, scanner, reaper, workers")
        self._settings = settings
        self._data = data
        self._inside = places.inside if places else None
        self._outbound = places.outbound if places else None
        layers = Layers(self, "Layers", settings=settings, build=sources.layers)
        self._workshop = Workshop(settings=settings, sources=sources, layers=layers)
        self.lanes = Lanes(self, "Lanes", settings=settings)
        self._scanner()
        self._reaper()
        self._worker("WorkerShared", "shared", self.lanes.shared)
        self._worker("WorkerSolo", "solo", self.lanes.solo)
        self._partitioner()
        self._replanner()
        self._freezer()
        self._loader()

    def _function(
        self,
        id: str,
        name: str,
        role: DatabaseRole,
        environment: Mapping[str, str],
        *,
        description: str,
        place: Place | None,
        folder: str | None = None,
    ) -> HourbellFunction:
        function = HourbellFunction(
            self,
            id,
            workshop=self._workshop,
            name=name,
            description=description,
            environment={**self._data.database.environment(role), **environment},
            place=place,
            folder=folder,
        )
        self._data.database.grant_connect(function, role)
        return function

    def _planner(
        self, id: str, name: str, description: str, environment: Mapping[str, str] | None = None
    ) -> HourbellFunction:
        """A function that finds runs in the database and sends them to the lanes."""
        horizon = {"HOURBELL_HORIZON_SECONDS": str(self._settings.horizon_seconds)}
        environment = {**self.lanes.environment(), **horizon, **(environment or {})}
        function = self._function(
            id, name, DatabaseRole.SCANNER, environment, description=description, place=self._inside
        )
        self.lanes.grant_send(function)
        self.lanes.grant_watch(function)
        return function

    def _scanner(self) -> None:
        """No reserved concurrency: it would take from the account's pool (which new accounts cannot spare) and turn a
        doubled tick into a late one, where the shard lease lets it end in a few milliseconds."""
        Ticks(
            self,
            "ScannerTicks",
            function=self._planner("Scanner", "scanner", "Claims due occurrences and sends their runs to the lanes"),
            every=Duration.minutes(1),
            inputs=scanner_inputs(self._settings),
            description="Hourbell: claim what is due in these shards",
        )

    def _reaper(self) -> None:
        events = RunEvents(self, "RunEvents", settings=self._settings)
        description = "Sends stuck runs again, ends what cannot be helped, and tells of it"
        reaper = self._planner("Reaper", "reaper", description, events.environment())
        events.grant_tell(reaper)
        CfnOutput(self, "EventBusName", value=events.bus.event_bus_name, description="Rules for run events go here")
        Ticks(
            self,
            "ReaperTicks",
            function=reaper,
            every=Duration.minutes(1),
            inputs={"Every": {}},
            description="Hourbell: recover what is stuck",
        )

    def _worker(self, id: str, name: str, lane: Lane) -> None:
        environment = {
            **self.lanes.environment(),
            **self._data.signing_key.environment(),
            "HOURBELL_LANE": name,
            "HOURBELL_LEASE_SECONDS": str(self._settings.lease_seconds),
            "HOURBELL_HEARTBEAT_SECONDS": str(self._settings.heartbeat_seconds),
            "HOURBELL_VISIBILITY_SECONDS": str(lane.visibility_seconds),
            "HOURBELL_PRIVATE_TARGETS": self._settings.private_targets,
            **allowed_targets_environment(self, settings=self._settings),
        }
        worker = self._function(
            id,
            f"worker-{name}",
            DatabaseRole.WORKER,
            environment,
            description=f"Executes the runs of the {name} lane",
            place=self._outbound,
            folder="worker",
        )
        self.lanes.grant_send(worker)
        self._data.signing_key.grant_sign(worker)
        grant_read_target_secrets(worker, stage=self._settings.name)
        grant_call_targets(worker, settings=self._settings)
        lane.feed(worker)

    def _partitioner(self) -> None:
        """Daily: the migrator makes the first partitions, this one keeps days ahead of them."""
        partitioner = self._function(
            "Partitioner",
            "partitioner",
            DatabaseRole.MIGRATOR,
            {},
            description="Makes the partitions of the coming days and drops old ones",
            place=self._inside,
        )
        Ticks(
            self,
            "PartitionerTicks",
            function=partitioner,
            every=Duration.days(1),
            inputs={"Every": {}},
            description="Hourbell: make partitions ahead",
            retries=2,
        )

    def _replanner(self) -> None:
        """Daily: nothing to do, unless a release brought newer zone data."""
        replanner = self._function(
            "Replanner",
            "replanner",
            DatabaseRole.SCANNER,
            {},
            description="Re-plans jobs after an update of the time-zone data",
            place=self._inside,
        )
        Ticks(
            self,
            "ReplannerTicks",
            function=replanner,
            every=Duration.days(1),
            inputs={"Every": {}},
            description="Hourbell: plan jobs with the present time-zone data",
            retries=2,
        )

    def _freezer(self) -> None:
        freezer = self._cold("Freezer", "freezer", "Moves far-future jobs from the intake into segments in S3")
        self._data.cold_bucket.grant_keep(freezer)

    def _loader(self) -> None:
        loader = self._cold("Loader", "loader", "Moves the coming hours from the cold tier into the hot one")
        self._data.cold_bucket.grant_read(loader)

    def _cold(self, id: str, name: str, description: str) -> HourbellFunction:
        """A function of the cold tier. Its lease lets a doubled tick end in a few milliseconds."""
        function = self._function(
            id,
            name,
            DatabaseRole.LOADER,
            self._data.cold_bucket.environment(),
            description=description,
            place=self._inside,
        )
        Ticks(
            self,
            f"{id}Ticks",
            function=function,
            every=Duration.minutes(1),
            inputs={"Every": {}},
            description=f"Hourbell: {description[0].lower()}{description[1:]}",
        )
        return function
