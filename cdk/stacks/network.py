"""The network stack: only for stages that have a network."""

from aws_cdk import Stack
from constructs import Construct

from cdk.constructs.network import Network
from cdk.constructs.place import Places
from cdk.settings import NetworkSettings, StageSettings


class NetworkStack(Stack):
    """A VPC for the database and the functions."""

    def __init__(self, scope: Construct, id: str, *, settings: StageSettings, network: NetworkSettings) -> None:
        super().__init__(scope, id, description=f"Hourbell {settings.name}: network")
        self.places: Places = Network(self, "Network", stage=settings, settings=network).places
