"""The API stack."""

from aws_cdk import CfnOutput, Stack
from constructs import Construct

from cdk.constructs.allowed_targets import allowed_targets_environment
from cdk.constructs.database import DatabaseRole
from cdk.constructs.function import HourbellFunction, Workshop
from cdk.constructs.http_api import HttpApi
from cdk.constructs.lanes import Lanes
from cdk.constructs.layers import Layers
from cdk.constructs.place import Place, Places, Sources
from cdk.settings import StageSettings
from cdk.stacks.data import DataStack


class ApiStack(Stack):
    """The HTTP API with its authorizer. Output `ApiUrl` is where it answers."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        settings: StageSettings,
        sources: Sources,
        places: Places | None,
        data: DataStack,
        lanes: Lanes,
    ) -> None:
        super().__init__(scope, id, description=f"Hourbell {settings.name}: HTTP API")
        self._data = data
        layers = Layers(self, "Layers", settings=settings, build=sources.layers)
        workshop = Workshop(settings=settings, sources=sources, layers=layers)
        place = places.inside if places else None
        http = HttpApi(
            self,
            "HttpApi",
            settings=settings,
            api=self._api(workshop, place, lanes),
            authorizer=self._authorizer(workshop, place),
        )
        self.api_id = http.api_id
        CfnOutput(self, "ApiUrl", value=http.url, description="Base URL of the HTTP API")
        CfnOutput(self, "ApiId", value=http.api_id, description="API Gateway's id of the HTTP API")

    def _api(self, workshop: Workshop, place: Place | None, lanes: Lanes) -> HourbellFunction:
        settings = workshop.settings
        api = HourbellFunction(
            self,
            "Api",
            workshop=workshop,
            name="api",
            description="Serves the HTTP API",
            environment={
                **self._data.database.environment(DatabaseRole.API),
                **lanes.environment(),
                **self._data.signing_key.environment(),
                "HOURBELL_HORIZON_SECONDS": str(settings.horizon_seconds),
                "HOURBELL_CELL": str(settings.cell),
                **self._data.cold_bucket.environment(),
                "HOURBELL_LEASE_SECONDS": str(settings.lease_seconds),
                "HOURBELL_PRIVATE_TARGETS": settings.private_targets,
                **allowed_targets_environment(self, settings=settings),
            },
            place=place,
        )
        self._data.database.grant_connect(api, DatabaseRole.API)
        self._data.signing_key.grant_sign(api)
        self._data.cold_bucket.grant_read(api)
        lanes.grant_send(api)
        return api

    def _authorizer(self, workshop: Workshop, place: Place | None) -> HourbellFunction:
        authorizer = HourbellFunction(
            self,
            "Authorizer",
            workshop=workshop,
            name="authorizer",
            description="Checks API keys",
            environment=self._data.database.environment(DatabaseRole.AUTHORIZER),
            place=place,
        )
        self._data.database.grant_connect(authorizer, DatabaseRole.AUTHORIZER)
        return authorizer
