"""What a cold start imports, beside the bare third-party modules that the function cannot do without.

    python -m benchmarks.cold_start [--json] [--rounds 9]

Each figure is the median of fresh interpreters that see the layers as they are deployed (cached bytecode, nothing else
on the path) and the function's folder: ``import_ms`` imports the handler and what the first invocation's wiring
imports, ``floor_ms`` only the modules named under ``floor``. The two take turns.

Milliseconds are of CPU time: importing cached bytecode does nothing but compute, and what else a machine is busy with
stays out of the figure. ``wall_ms`` is the clock's time for the same imports.
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
path, modules = sys.argv[1].split("\\n"), sys.argv[2].split()
sys.path[:0] = path
import time
wall, cpu = time.perf_counter(), time.process_time()
for module in modules:
    __import__(module)
print((time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000)
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
_SENDS = "boto3 (a run to send), croniter (a cron expression not seen before)"

# ``tests/integration/functions`` holds these against the first invocation of each function.
COLD_STARTS = {
    "api": ColdStart(
        floor=("psycopg", "aws_lambda_powertools.event_handler.api_gateway", "pydantic"),
        on_demand=_SENDS + ", models of the requests that are made",
    ),
    "authorizer": ColdStart(floor=("psycopg",)),
    "scanner": ColdStart(floor=("psycopg",), on_demand=_SENDS),
    "reaper": ColdStart(floor=("psycopg",), on_demand="boto3 (a run to send)"),
    # The signing key is read, and the HTTP client made, while the first message is still held.
    "worker": ColdStart(floor=("psycopg", *_HTTP, *_AWS), wiring=(*_HTTP, *_AWS)),
    "migrator": ColdStart(floor=("psycopg",), on_demand="boto3 (the administrator's password)"),
    "partitioner": ColdStart(floor=("psycopg",)),
    "replanner": ColdStart(floor=("psycopg",)),
}


def layers() -> list[Path]:
    """The folders of both layers, built for this interpreter if they are not."""
    with contextlib.redirect_stdout(sys.stderr):
        build_layers(TARGETS["local"]())
    return [layer_path("local", layer) / "python" for layer in ("hourbell", "dependencies")]


def import_once(path: Sequence[Path], modules: Sequence[str]) -> tuple[float, float]:
    """Wall and CPU milliseconds of importing ``modules`` in a fresh interpreter that sees only ``path``."""
    command = [sys.executable, "-I", "-S", "-B", "-c", _IMPORT, "\n".join(map(str, path)), " ".join(modules)]
    wall, cpu = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(wall), float(cpu)


def measure(name: str, cold_start: ColdStart, path: Sequence[Path], rounds: int) -> dict[str, Any]:
    """One function's figures."""
    whole = ([FUNCTIONS / name, *path], ("handler", *cold_start.wiring))
    floor = (path, cold_start.floor)
    import_once(*whole), import_once(*floor)  # the files are in the page cache from here on
    pairs = [(import_once(*whole), import_once(*floor)) for _ in range(rounds)]
    import_ms = statistics.median(ours[1] for ours, _ in pairs)
    floor_ms = statistics.median(bare[1] for _, bare in pairs)
    return {
        "import_ms": round(import_ms, 1),
        "floor_ms": round(floor_ms, 1),
        "ratio": round(import_ms / floor_ms, 3),
        "wall_ms": round(statistics.median(ours[0] for ours, _ in pairs), 1),
        "floor": list(cold_start.floor),
        "on_demand": cold_start.on_demand,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON line and nothing else")
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    path, handlers = layers(), {}
    for name, cold_start in COLD_STARTS.items():
        handlers[name] = measure(name, cold_start, path, arguments.rounds)
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
