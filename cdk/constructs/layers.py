"""The two layers of every function."""

import re
from pathlib import Path

from aws_cdk import AssetHashType, RemovalPolicy
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from cdk.constructs.runtime import PYTHON, architecture
from cdk.settings import StageSettings


class LayersNotBuiltError(FileNotFoundError):
    """The layers of this stage have not been built: run `python -m cdk.build_layers`."""


class Layers(Construct):
    """What `cdk.build_layers` built. Each stack has its own versions: sharing one through a stack export would forbid
    to replace it."""

    def __init__(self, scope: Construct, id: str, *, settings: StageSettings, build: Path) -> None:
        super().__init__(scope, id)
        self._settings = settings
        self._folder = build / settings.layers
        self.versions: list[lambda_.ILayerVersion] = [
            self._version("Dependencies", "dependencies", "What Hourbell depends on, pinned"),
            self._version("Package", "hourbell", "The hourbell package"),
        ]

    def _version(self, id: str, layer: str, description: str) -> lambda_.LayerVersion:
        return lambda_.LayerVersion(
            self,
            id,
            code=self._asset(layer),
            description=description,
            compatible_runtimes=[PYTHON],
            compatible_architectures=[architecture(self._settings)],
            removal_policy=RemovalPolicy.DESTROY,
        )

    def _asset(self, layer: str) -> lambda_.AssetCode:
        archive, stamp = self._folder / f"{layer}.zip", self._folder / f"{layer}.stamp"
        if not archive.is_file() or not stamp.is_file():
            raise LayersNotBuiltError(f"no {archive}: run python -m cdk.build_layers --target {self._settings.layers}")
        digest = re.sub(r"\W", "", stamp.read_text())
        return lambda_.Code.from_asset(str(archive), asset_hash=digest, asset_hash_type=AssetHashType.CUSTOM)
