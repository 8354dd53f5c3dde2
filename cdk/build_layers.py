"""Builds the two Lambda layers: `python -m cdk.build_layers --target aws|local`.

    .hourbell/build/layers/<target>/dependencies/python   what requirements.txt pins, trimmed
    .hourbell/build/layers/<target>/hourbell/python       the package, without the command line

and beside each folder the archive that is deployed (`.zip`) and the hash of what it was built from (`.stamp`).

`aws` takes wheels for arm64 Linux and Python 3.13, `local` for this interpreter and machine. A cold start unpacks and
imports whatever is here, file by file, so the layers carry the service models that the functions use and no others, no
tests, and bytecode that Python loads without comparing it to its source (PEP 552, unchecked hash pycs); of the
dependencies nothing but bytecode.

The emulator unpacks a function's layers again for each new process, and writing 1,400 files took it longer than
importing them. So the local archive of the dependencies is one `.pth` file (docs.python.org/3/library/site.html) that
names the folder beside it: each process imports the same files from there.

A layer is built again only when its inputs change, which the stamp tells. The same hash names the asset in
CloudFormation, so that an unchanged layer is not uploaded again, whichever machine built it.
"""

import argparse
import compileall
import hashlib
import os
import platform
import py_compile
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from uv import find_uv_bin

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / ".hourbell" / "build" / "layers"
REQUIREMENTS = ROOT / "layers" / "dependencies" / "requirements.txt"
PACKAGE = ROOT / "layers" / "hourbell" / "python" / "hourbell"

# The models of the services that Hourbell calls; botocore ships some 400 others.
SERVICE_MODELS = {"events", "lambda", "rds", "s3", "secretsmanager", "sns", "sqs", "stepfunctions", "sts"}

# Parts of the dependencies that no function imports: test suites, console scripts, type stubs, documentation sources,
# Powertools utilities and pydantic's first version.
UNUSED = (
    "bin",
    "**/tests",
    "**/__pycache__",
    "**/*.pyi",
    # METADATA stays: psycopg reads its version from it
    "*.dist-info/[!M]*",
    "boto3/data",
    "boto3/examples",
    "botocore/data/*/*/examples-1.json*",
    "pydantic/v1",
    "aws_lambda_powertools/utilities/auth_alpha",
    "aws_lambda_powertools/utilities/batch",
    "aws_lambda_powertools/utilities/circuit_breaker",
    "aws_lambda_powertools/utilities/data_masking",
    "aws_lambda_powertools/utilities/feature_flags",
    "aws_lambda_powertools/utilities/idempotency",
    "aws_lambda_powertools/utilities/kafka",
    "aws_lambda_powertools/utilities/parameters",
    "aws_lambda_powertools/utilities/parser",
    "aws_lambda_powertools/utilities/streaming",
    "aws_lambda_powertools/utilities/validation",
)
# Parts of the package that no function imports.
OFF_LAMBDA = ("cli", "local", "**/__pycache__")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The machine that a layer is for."""

    name: str
    python: tuple[int, int]
    machine: str
    # what uv needs to take wheels of another machine than this one
    uv_options: tuple[str, ...]
    # the dependencies' archive names their folder instead of holding it
    linked: bool


def aws_target() -> Target:
    """Lambda's python3.13 on arm64: Amazon Linux 2023, whose glibc 2.34 takes manylinux_2_28 wheels."""
    options = ("--python-platform", "aarch64-manylinux_2_28", "--python-version", "3.13")
    return Target(name="aws", python=(3, 13), machine="aarch64", uv_options=options, linked=False)


def local_target() -> Target:
    """This interpreter on this machine, where the emulator runs the functions as processes."""
    return Target(name="local", python=sys.version_info[:2], machine=platform.machine(), uv_options=(), linked=True)


TARGETS: dict[str, Callable[[], Target]] = {"aws": aws_target, "local": local_target}


def layer_path(target: str, layer: str) -> Path:
    """The folder of a built layer."""
    return BUILD / target / layer


def _digest(target: Target, files: Iterable[Path]) -> str:
    place = ROOT if target.linked else None
    digest = hashlib.sha256(repr((target, sys.version_info[:2] == target.python, place)).encode())
    for file in sorted(files):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(ROOT)}:{len(content)}:".encode() + content)
    return digest.hexdigest()


def _package_files() -> list[Path]:
    unused = {path for pattern in OFF_LAMBDA for path in PACKAGE.glob(pattern)}
    files = (path for path in PACKAGE.rglob("*") if path.is_file())
    return [file for file in files if unused.isdisjoint(file.parents)]


def _remove(root: Path, patterns: Iterable[str]) -> None:
    for path in [path for pattern in patterns for path in root.glob(pattern)]:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _trim_service_models(data: Path) -> None:
    """Keep the newest model of each service that is called, and botocore's own data beside them."""
    for service in [path for path in data.iterdir() if path.is_dir()]:
        *old, newest = sorted(service.iterdir())
        for model in [*old, *([] if service.name in SERVICE_MODELS else [newest])]:
            shutil.rmtree(model)


def _install_dependencies(target: Target, python: Path) -> None:
    install = (find_uv_bin(), "pip", "install", "--quiet", "--python", sys.executable, "--target", str(python))
    pinned = ("--only-binary", ":all:", "--require-hashes", "--no-deps", "--requirements", str(REQUIREMENTS))
    subprocess.run([*install, *target.uv_options, *pinned], check=True)
    _remove(python, UNUSED)
    _trim_service_models(python / "botocore" / "data")


def _copy_package(_target: Target, python: Path) -> None:
    for file in _package_files():
        copy = python / file.relative_to(PACKAGE.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)


def _compile(target: Target, python: Path, *, keep_source: bool) -> None:
    """Bytecode beside the source, or in its place: half the files to unpack, and tracebacks still name file and line.

    Bytecode belongs to one Python version; another one building the layer leaves it to the cold start.
    """
    if sys.version_info[:2] != target.python:
        return
    compileall.compile_dir(
        python,
        quiet=2,
        legacy=not keep_source,
        stripdir=str(python),
        prependdir="/opt/python",
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    if not keep_source:
        for source in python.rglob("*.py"):
            if source.with_suffix(".pyc").is_file():
                source.unlink()


def _archive(contents: Mapping[str, bytes], archive: Path) -> None:
    """A zip that depends on names and contents only."""
    with ZipFile(archive, "w") as zipped:
        for name, content in sorted(contents.items()):
            entry = ZipInfo(name)
            entry.external_attr = 0o644 << 16
            zipped.writestr(entry, content, ZIP_DEFLATED)


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _link(folder: Path) -> dict[str, bytes]:
    """A layer that puts the folder's Python path first and takes the emulator's own packages off it.

    With those in reach a function would import what AWS does not have: httpx, for one, loads h2 wherever it finds it.
    """
    site = f"python/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    path = f"[{str(folder / 'python')!r}, *(path for path in sys.path if not path.endswith('site-packages'))]"
    line = f"import sys; sys.path[:] = {path}\n"
    return {f"{site}/hourbell-dependencies.pth": line.encode()}


def build(target: Target, layer: str, digest: str, fill: Callable[[Target, Path], None]) -> bool:
    """Build one layer beside its place and move it there; False when it already stands."""
    place = layer_path(target.name, layer)
    stamp, archive = place.with_suffix(".stamp"), place.with_suffix(".zip")
    if place.is_dir() and archive.is_file() and stamp.is_file() and stamp.read_text() == digest:
        return False
    scratch = place.with_name(f"{layer}.building-{os.getpid()}")
    python = scratch / "python"
    python.mkdir(parents=True)
    try:
        fill(target, python)
        _compile(target, python, keep_source=layer == "hourbell")
        stamp.unlink(missing_ok=True)
        linked = target.linked and layer == "dependencies"
        _archive(_link(place) if linked else _contents(scratch), archive)
        shutil.rmtree(place, ignore_errors=True)
        scratch.rename(place)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    stamp.write_text(digest)
    return True


def _report(target: Target, layer: str, *, built: bool) -> None:
    place = layer_path(target.name, layer)
    files = [path for path in place.rglob("*") if path.is_file()]
    unpacked = sum(path.stat().st_size for path in files) / 1e6
    packed = place.with_suffix(".zip").stat().st_size / 1e6
    state = "built" if built else "unchanged"
    print(f"{target.name}/{layer}: {len(files)} files, {unpacked:.1f} MB, zip {packed:.1f} MB ({state})")


def build_layers(target: Target) -> None:
    """Build what changed of a target's two layers."""
    recipe = Path(__file__).resolve()
    layers = {
        "dependencies": (_install_dependencies, [REQUIREMENTS, recipe]),
        "hourbell": (_copy_package, [*_package_files(), recipe]),
    }
    for layer, (fill, inputs) in layers.items():
        _report(target, layer, built=build(target, layer, _digest(target, inputs), fill))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m cdk.build_layers", description="Build the Lambda layers.")
    parser.add_argument("--target", choices=TARGETS, required=True)
    build_layers(TARGETS[parser.parse_args().target]())


if __name__ == "__main__":
    main()
