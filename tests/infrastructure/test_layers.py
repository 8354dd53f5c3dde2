"""The layers: built once, the same twice, and enough for every function."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import pytest

from cdk import build_layers
from cdk.build_layers import PACKAGE, ROOT, SERVICE_MODELS, Target, layer_path

FUNCTIONS = sorted(folder.parent.name for folder in (ROOT / "functions").glob("*/handler.py"))


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Target:
    monkeypatch.setattr(build_layers, "BUILD", tmp_path)
    return Target(name="test", python=sys.version_info[:2], machine="any", uv_options=(), linked=False)


def fill(_target: Target, python: Path) -> None:
    (python / "library").mkdir()
    (python / "library" / "__init__.py").write_text("answer = 42\n")


def test_a_layer_is_built_again_only_when_its_inputs_change(target: Target) -> None:
    built = [build_layers.build(target, "dependencies", digest, fill) for digest in ("one", "one", "two")]
    assert built == [True, False, True]


def test_a_build_that_fails_leaves_the_layer_that_stands(target: Target) -> None:
    build_layers.build(target, "dependencies", "one", fill)

    def fail(_target: Target, _python: Path) -> None:
        raise RuntimeError("no network")

    with pytest.raises(RuntimeError):
        build_layers.build(target, "dependencies", "two", fail)
    assert not build_layers.build(target, "dependencies", "one", fill)
    assert [path.name for path in layer_path("test", "dependencies").parent.iterdir() if "building" in path.name] == []


def test_the_same_inputs_give_the_same_archive(target: Target) -> None:
    archive = layer_path("test", "hourbell").with_suffix(".zip")
    build_layers.build(target, "hourbell", "one", fill)
    first = archive.read_bytes()
    build_layers.build(target, "hourbell", "two", fill)
    assert archive.read_bytes() == first


def test_dependencies_come_as_bytecode_and_the_package_with_its_source(target: Target) -> None:
    build_layers.build(target, "dependencies", "one", fill)
    build_layers.build(target, "hourbell", "one", fill)
    found = {
        layer: {path.suffix for path in layer_path("test", layer).rglob("*") if path.is_file()}
        for layer in ("dependencies", "hourbell")
    }
    assert found == {"dependencies": {".pyc"}, "hourbell": {".py", ".pyc"}}


def test_the_local_dependencies_are_one_line_that_names_their_folder(target: Target, tmp_path: Path) -> None:
    """The emulator treats a layer's site-packages as a site directory; its own packages must not be in reach."""
    build_layers.build(replace(target, linked=True), "dependencies", "one", fill)
    folder = layer_path("test", "dependencies")
    with ZipFile(folder.with_suffix(".zip")) as archive:
        (name,) = archive.namelist()
        archive.extractall(tmp_path / "unpacked")
    site = str((tmp_path / "unpacked" / name).parent)
    program = f"import site, sys; site.addsitedir({site!r}); print(*sys.path, sep='\\n')"
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    first, *others = done.stdout.splitlines()
    assert Path(first) == folder / "python"
    assert [path for path in others if path.endswith("site-packages")] == []


def test_bytecode_for_another_python_is_left_to_that_python(target: Target) -> None:
    other = Target(name="test", python=(3, 99), machine="any", uv_options=(), linked=False)
    build_layers.build(other, "dependencies", "one", fill)
    assert [path.name for path in layer_path("test", "dependencies").rglob("*.py*")] == ["__init__.py"]


def test_the_layer_has_the_model_of_every_service_that_is_called() -> None:
    called = {
        service
        for source in PACKAGE.rglob("*.py")
        if "local" not in source.parts
        for service in re.findall(r"""(?:aws_client|boto3\.client)\(\s*["']([a-z0-9-]+)["']""", source.read_text())
    }
    assert called <= SERVICE_MODELS


@pytest.fixture(scope="session")
def local_layers() -> list[Path]:
    """The layers that the local cloud deploys, built if they are not."""
    build_layers.build_layers(build_layers.local_target())
    return [layer_path("local", layer) / "python" for layer in ("hourbell", "dependencies")]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_handler_imports_from_its_layers_alone(local_layers: list[Path], function: str) -> None:
    run_with_layers(local_layers, "import handler; assert callable(handler.handler)", function)


def test_every_service_client_can_be_made_from_the_layers_alone(local_layers: list[Path]) -> None:
    run_with_layers(
        local_layers,
        f"import boto3\nfor service in {sorted(SERVICE_MODELS)}: boto3.client(service, region_name='eu-west-1')",
        "worker",
    )


def run_with_layers(layers: list[Path], code: str, function: str) -> None:
    """Run code in an interpreter that has nothing but the standard library, the layers and one function."""
    path = [str(ROOT / "functions" / function), *map(str, layers)]
    program = f"import sys\nsys.path[:0] = {path}\n{code}"
    environment = {"PYTHONTZPATH": "", "PATH": os.defpath}
    command = [sys.executable, "-I", "-S", "-B", "-W", "error", "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
