"""Each function's first invocation, in a fresh interpreter, as its own database role, on its sample event."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.seeds import Seeder

ROOT = Path(__file__).resolve().parents[3]

_INVOKE = """
import json, sys
sys.path.insert(0, sys.argv[1])
# What this environment has, and the layers have not: httpx would import its command line with them.
sys.modules.update(dict.fromkeys(("click", "pygments", "rich")))
import handler

class Context:
    aws_request_id = "first"
    function_name = "function"
    memory_limit_in_mb = 512
    invoked_function_arn = "arn:aws:lambda:eu-west-1:123456789012:function:function"
    def get_remaining_time_in_millis(self):
        return 60_000

reply = handler.handler(json.loads(sys.argv[2]), Context())
print(json.dumps({"reply": reply, "modules": [name for name, module in sys.modules.items() if module is not None]}))
"""

# (database role, packages that the first invocation must not have imported)
HEAVY = {"boto3", "httpx", "pydantic", "aws_lambda_powertools", "croniter"}
FUNCTIONS = {
    "api": ("hourbell_api", HEAVY - {"aws_lambda_powertools"}),
    "authorizer": ("hourbell_authorizer", HEAVY),
    "scanner": ("hourbell_scanner", HEAVY),
    "reaper": ("hourbell_scanner", HEAVY),
    "freezer": ("hourbell_loader", HEAVY),
    "loader": ("hourbell_loader", HEAVY),
    "worker": ("hourbell_worker", HEAVY - {"boto3", "httpx"}),
    "partitioner": ("hourbell_migrator", HEAVY),
    "replanner": ("hourbell_migrator", HEAVY),
    "migrator": ("postgres", HEAVY - {"boto3"}),
}


class _Secrets(BaseHTTPRequestHandler):
    """Secrets Manager with one value for all."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"SecretString": "a" * 40}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""


@pytest.fixture(scope="module")
def aws() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Secrets)
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def environment(aws: str, database: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "PYTHONTZPATH": "",
        "AWS_ENDPOINT_URL": aws,
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "HOURBELL_STAGE": "test",
        "HOURBELL_DATABASE": database,
        "HOURBELL_DATABASE_AUTH": "none",
        "HOURBELL_ADMINISTRATOR": "",
        "HOURBELL_ADMINISTRATOR_SECRET": "",
        "HOURBELL_LANE_SHARED_URL": f"{aws}/shared",
        "HOURBELL_LANE_SOLO_URL": f"{aws}/solo",
        "HOURBELL_HOLD_SECONDS": "1",
        "HOURBELL_HORIZON_SECONDS": "120",
        "HOURBELL_CELL": "0",
        "HOURBELL_COLD_BUCKET": "cold",
        "HOURBELL_SIGNING_SECRET": "signing",
        "HOURBELL_FIRST_KEY_SECRET": "first",
        "HOURBELL_PRIVATE_TARGETS": "refuse",
        "HOURBELL_ALLOWED_TARGETS": "",
        "HOURBELL_LEASE_SECONDS": "60",
        "HOURBELL_HEARTBEAT_SECONDS": "20",
        "HOURBELL_VISIBILITY_SECONDS": "720",
        "HOURBELL_LANE": "shared",
        "HOURBELL_EVENT_BUS": "hourbell-test",
    }


def invoke(function: str, event: Any, env: dict[str, str]) -> tuple[Any, set[str]]:
    """Its answer, and the packages it has imported."""
    answer = json.loads(printed(function, event, env)[-1])
    return answer["reply"], {name.partition(".")[0] for name in answer["modules"]}


def printed(function: str, event: Any, env: dict[str, str]) -> list[str]:
    command = [sys.executable, "-c", _INVOKE, str(ROOT / "functions" / function), json.dumps(event)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_first_invocation_answers_and_pays_for_nothing_it_does_not_use(function, postgres, database_name, aws):
    role, unwanted = FUNCTIONS[function]
    event = json.loads((ROOT / "events" / f"{function}.json").read_text(encoding="utf-8"))

    reply, packages = invoke(function, event, environment(aws, postgres.conninfo(database=database_name, user=role)))

    assert isinstance(reply, dict)
    assert packages.isdisjoint(unwanted)


def test_the_reaper_counts_the_runs_that_no_worker_comes_for(conninfo, postgres, database_name, aws):
    now = datetime.now(UTC)
    with psycopg.connect(conninfo, autocommit=True) as connection:
        seed = Seeder(connection)
        for reason in (None, "backlog", "no_slot", "target_paused"):
            seed.run(seed.job(), now - timedelta(minutes=2), reason=reason, wake_at=now + timedelta(hours=1))
        seed.run(seed.job(), now + timedelta(minutes=1))
    env = environment(aws, postgres.conninfo(database=database_name, user="hourbell_scanner"))

    lines = [json.loads(line) for line in printed("reaper", {}, env)]

    assert [line["RunsOverdue"] for line in lines if "RunsOverdue" in line] == [2]


def test_these_are_all_functions():
    assert {handler.parent.name for handler in (ROOT / "functions").glob("*/handler.py")} == FUNCTIONS.keys()
