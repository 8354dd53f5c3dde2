"""A cold start is paid by whoever waits for it: what each function may import, held in a fresh interpreter.

Nothing is timed here (``benchmarks.cold_start`` does that). What a handler imports is a decision, and changes by one.
"""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# In this environment, and not in the layers: httpx would import its command line with them.
OFF_LAMBDA = ("click", "pygments", "rich")

_IMPORT = f"""
import sys
sys.path[:0] = sys.argv[2:]
sys.modules.update(dict.fromkeys({OFF_LAMBDA}))
__import__(sys.argv[1])
print(*(name for name, module in sys.modules.items() if module is not None))
"""

POSTGRES = {"psycopg", "psycopg_binary", "typing_extensions"}
PLANNING = {"tzdata"}
# botocore itself is a file that sets a version; its weight is in what comes with boto3
ROUTING = {"aws_lambda_powertools", "botocore", "jmespath"}
CALLING = {"anyio", "certifi", "h11", "httpcore", "httpx", "idna"}

# Third-party packages that a handler may import before its first invocation.
ALLOWED = {
    "api": POSTGRES | PLANNING | ROUTING,
    "authorizer": POSTGRES,
    "scanner": POSTGRES | PLANNING,
    "reaper": POSTGRES,
    "freezer": POSTGRES,
    "loader": POSTGRES,
    "worker": POSTGRES | PLANNING | CALLING,
    "migrator": POSTGRES,
    "partitioner": POSTGRES,
    "replanner": POSTGRES | PLANNING,
}


@cache
def imported(module: str, *path: str) -> frozenset[str]:
    """The modules in a fresh interpreter after it has imported this one."""
    command = [sys.executable, "-c", _IMPORT, module, *path]
    return frozenset(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


def third_party(modules: frozenset[str]) -> set[str]:
    packages = {name.partition(".")[0] for name in modules}
    ours_and_pythons = {"handler", "hourbell", *sys.stdlib_module_names}
    return {name for name in packages - ours_and_pythons if not name.startswith("_") and name != "cython_runtime"}


def test_every_function_has_a_budget():
    assert {handler.parent.name for handler in (ROOT / "functions").glob("*/handler.py")} == ALLOWED.keys()


@pytest.mark.parametrize("function", ALLOWED)
def test_a_handler_imports_no_package_beyond_its_budget(function: str):
    loaded = imported("handler", str(ROOT / "functions" / function))
    unwanted = third_party(loaded) - third_party(imported("sys")) - ALLOWED[function]
    assert unwanted == set()


@pytest.mark.parametrize("function", ALLOWED)
def test_no_handler_imports_the_aws_clients_before_it_calls_one(function: str):
    loaded = imported("handler", str(ROOT / "functions" / function))
    assert loaded.isdisjoint({"boto3", "botocore.session", "botocore.client"})


@pytest.mark.parametrize("function", sorted(ALLOWED.keys() - {"api"}))
def test_only_the_api_imports_the_api(function: str):
    loaded = imported("handler", str(ROOT / "functions" / function))
    assert not any(name.startswith(("hourbell.api.", "hourbell.services.jobs")) for name in loaded)


@pytest.mark.parametrize("function", ["reaper", "freezer", "loader", "partitioner", "migrator", "authorizer"])
def test_a_function_that_plans_nothing_imports_no_schedules(function: str):
    loaded = imported("handler", str(ROOT / "functions" / function))
    assert not any(name.startswith(("hourbell.domain.schedule", "hourbell.domain.cron")) for name in loaded)


def test_the_domain_imports_no_vendor_before_it_meets_a_cron_expression():
    modules = sorted((ROOT / "layers/hourbell/python/hourbell/domain").glob("*.py"))
    for module in modules:
        assert third_party(imported(f"hourbell.domain.{module.stem}")) - third_party(imported("sys")) <= {"tzdata"}
