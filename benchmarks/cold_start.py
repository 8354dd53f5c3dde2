"""What a cold start imports, beside the bare third-party modules that the function cannot do without.

    python -m benchmarks.cold_start [--json] [--rounds 11]

Each round is a fresh interpreter that sees the layers as they are deployed (cached bytecode, nothing else on the path)
and the function's folder. It imports the modules named under ``floor`` first, and then the handler and what the first
invocation's wiring imports: ``floor_ms`` is the time until the former are there, ``import_ms`` until all are. One
interpreter gives both, so that a busy machine slows both alike. A floor that names a module which the handler would not
import by itself is an error. Figures are medians.

Milliseconds are of CPU time: importing cached bytecode does nothing but compute, and what else a machine is busy with
stays out of the figure. ``wall_ms`` is the clock's time for ``import_ms``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdk.build_layers import TARGETS, build_layers, layer_path

FUNCTIONS = Path(__file__).resolve().parents[1] / "functions"

_IMPORT = """
import sys
path, floor, rest = (argument.split("\\n") for argument in sys.argv[1:])
sys.path[:0] = path
import time
wall, start = time.perf_counter(), time.process_time()
for module in filter(None, floor):
    __import__(module)
middle = time.process_time()
for module in rest:
    __import__(module)
end = time.process_time()
print((middle - start) * 1000, (end - start) * 1000, (time.perf_counter() - wall) * 1000)
print(*sys.modules)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdStart:
    """What one function imports before it can serve.

    Attributes:
        floor: third-party modules that it cannot do without.
        wiring: modules that its first invocation imports besides the handler's.
        on_demand: modules that wait for an invocation that uses them, and which that is.
    """

    floor: tuple[str, ...]
    wiring: tuple[str, ...] = ()
    on_demand: str = ""


_AWS = ("boto3", "botocore.config", "botocore.exceptions")
_HTTP = ("httpx", "httpcore", "anyio")
_SENDS = "boto3 (a run to send)"

COLD_STARTS = {
    "api": ColdStart(
        floor=("psycopg", "aws_lambda_powertools.event_handler.api_gateway"),
        on_demand="pydantic (a request with a body), croniter (a new cron job), " + _SENDS,
    ),
    "authorizer": ColdStart(floor=("psycopg",)),
    "scanner": ColdStart(floor=("psycopg",), on_demand=_SENDS),
    "reaper": ColdStart(floor=("psycopg",), on_demand=_SENDS),
    # The signing key is read, and the HTTP client made, while the first message is still held.
    "worker": ColdStart(floor=("psycopg", *_HTTP, *_AWS), wiring=(*_HTTP, *_AWS)),
    "freezer": ColdStart(floor=("psycopg",), on_demand="boto3 (a bucket to freeze)"),
    "loader": ColdStart(floor=("psycopg",), on_demand="boto3 (a bucket to promote)"),
    "migrator": ColdStart(floor=("psycopg",), on_demand="boto3 (the administrator's password)"),
    "partitioner": ColdStart(floor=("psycopg",)),
    "replanner": ColdStart(floor=("psycopg",)),
}


def built_layers() -> list[Path]:
    """The folders of both layers, built for this interpreter if they are not."""
    with contextlib.redirect_stdout(sys.stderr):
        build_layers(TARGETS["local"]())
    return [layer_path("local", layer) / "python" for layer in ("hourbell", "dependencies")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One fresh interpreter, in milliseconds: CPU until the floor was there and until all was, and the clock's."""

    floor: float
    everything: float
    wall: float
    modules: frozenset[str]


def import_once(path: Sequence[Path], floor: Sequence[str], rest: Sequence[str]) -> Round:
    """Import ``floor``, then ``rest``, in a fresh interpreter that sees only ``path``."""
    arguments = ["\n".join(map(str, path)), "\n".join(floor), "\n".join(rest)]
    command = [sys.executable, "-I", "-S", "-B", "-c", _IMPORT, *arguments]
    times, modules = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    bare, everything, wall = map(float, times.split())
    return Round(floor=bare, everything=everything, wall=wall, modules=frozenset(modules.split()))


def measure(name: str, cold_start: ColdStart, layers: Sequence[Path], rounds: int) -> dict[str, Any]:
    """One function's figures."""
    path, rest = [FUNCTIONS / name, *layers], ("handler", *cold_start.wiring)
    unneeded = set(cold_start.floor) - import_once(path, (), rest).modules
    if unneeded:
        raise SystemExit(f"{name} does not import {unneeded}: they are no part of its floor")
    done = [import_once(path, cold_start.floor, rest) for _ in range(rounds)]
    return {
        "import_ms": round(statistics.median(one.everything for one in done), 1),
        "floor_ms": round(statistics.median(one.floor for one in done), 1),
        "ratio": round(statistics.median(one.everything / one.floor for one in done), 3),
        "wall_ms": round(statistics.median(one.wall for one in done), 1),
        "floor": list(cold_start.floor),
        "on_demand": cold_start.on_demand,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON line and nothing else")
    parser.add_argument("--rounds", type=int, default=11)
    arguments = parser.parse_args()
    layers, handlers = built_layers(), {}
    for name, cold_start in COLD_STARTS.items():
        handlers[name] = measure(name, cold_start, layers, arguments.rounds)
        if not arguments.json:
            print(name, handlers[name], file=sys.stderr, flush=True)
    result = {
        "handlers": handlers,
        "worst_ratio": max(handler["ratio"] for handler in handlers.values()),
        "rounds": arguments.rounds,
        "python": sys.version.split()[0],
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
