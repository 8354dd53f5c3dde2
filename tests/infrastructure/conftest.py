"""Both stages, synthesised once per test run; layers are stand-ins, since only what they are made of differs."""

from __future__ import annotations

from collections.abc import Mapping
from zipfile import ZipFile

import pytest

from cdk.app import add_stacks
from cdk.constructs.place import Sources
from cdk.settings import STAGES, StageSettings
from tests.infrastructure.templates import Assembly, Synthesise, context


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    layers = tmp_path_factory.mktemp("layers")
    for target in ("aws", "local"):
        for layer in ("dependencies", "hourbell"):
            (layers / target).mkdir(exist_ok=True)
            (layers / target / f"{layer}.stamp").write_text(f"{target}{layer}")
            with ZipFile(layers / target / f"{layer}.zip", "w") as archive:
                archive.writestr("python/marker", layer)
    return Sources(layers=layers)


@pytest.fixture(scope="session")
def synthesise(sources: Sources, tmp_path_factory: pytest.TempPathFactory) -> Synthesise:
    def run(settings: StageSettings) -> Assembly:
        from aws_cdk import App  # after cdk, which chooses the Node that this import starts

        folder = tmp_path_factory.mktemp(settings.name)
        app = App(context=context(), outdir=str(folder), analytics_reporting=False)
        add_stacks(app, settings, sources)
        app.synth()
        return Assembly.read(folder)

    return run


@pytest.fixture(scope="session")
def assemblies(synthesise: Synthesise) -> Mapping[str, Assembly]:
    return {name: synthesise(settings) for name, settings in STAGES.items()}


@pytest.fixture
def prod(assemblies: Mapping[str, Assembly]) -> Assembly:
    return assemblies["prod"]


@pytest.fixture
def local(assemblies: Mapping[str, Assembly]) -> Assembly:
    return assemblies["local"]


@pytest.fixture(params=tuple(STAGES))
def settings(request: pytest.FixtureRequest) -> StageSettings:
    return STAGES[request.param]


@pytest.fixture
def assembly(settings: StageSettings, assemblies: Mapping[str, Assembly]) -> Assembly:
    return assemblies[settings.name]
