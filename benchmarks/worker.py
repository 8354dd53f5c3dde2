"""Calls a second through one worker environment: 1,000 due runs of a local receiver, in the lane's full batches.

    python -m benchmarks.worker [--json] [--runs 1000] [--batch 10]

The function's own handler runs in this process, against a PostgreSQL of its own: each batch is leased, called (signed,
over connections that are kept) and recorded before the next, as Lambda hands them to one environment. The limit is
plain httpx in the same run: one client, as many calls at once, nothing else. The receiver is a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
from hourbell.lanes.messages import LaneMessage, encode_message
from hourbell.local.postgres import throwaway_postgres
from hourbell.store.bootstrap import bootstrap
from hourbell.store.migrate import migrate
from hourbell.store.partitions import make_partitions

from tests.seeds import Seeder

ROOT = Path(__file__).resolve().parents[1]

# A receiver that answers 200 to everything as fast as the standard library can; its port is its first line.
RECEIVER = """
import asyncio

ANSWER = b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nContent-Type: application/json\\r\\n\\r\\n{}"

class Receiver(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.kept = transport, b""

    def data_received(self, data):
        self.kept += data
        while b"\\r\\n\\r\\n" in self.kept:
            head, _, rest = self.kept.partition(b"\\r\\n\\r\\n")
            length = next((int(line.split(b":")[1]) for line in head.lower().split(b"\\r\\n")
                           if line.startswith(b"content-length")), 0)
            if len(rest) < length:
                return
            self.kept = rest[length:]
            self.transport.write(ANSWER)

async def main():
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


@contextmanager
def receiver() -> Iterator[str]:
    process = subprocess.Popen([sys.executable, "-c", RECEIVER], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.communicate()


def worker(database: str) -> Any:
    """The handler of a fresh environment, which has its signing key already."""
    os.environ.update(
        {
            "AWS_REGION": "eu-west-1",
            "HOURBELL_STAGE": "benchmark",
            "HOURBELL_DATABASE": database,
            "HOURBELL_DATABASE_AUTH": "none",
            "HOURBELL_LANE_SHARED_URL": "http://127.0.0.1:9/123456789012/shared",
            "HOURBELL_LANE_SOLO_URL": "http://127.0.0.1:9/123456789012/solo",
            "HOURBELL_HOLD_SECONDS": "0",
            "HOURBELL_SIGNING_SECRET": "signing",
            "HOURBELL_PRIVATE_TARGETS": "allow",
            "HOURBELL_ALLOWED_TARGETS": "",
            "HOURBELL_LANE": "shared",
            "HOURBELL_LEASE_SECONDS": "60",
            "HOURBELL_HEARTBEAT_SECONDS": "20",
            "HOURBELL_VISIBILITY_SECONDS": "720",
        }
    )
    from hourbell import environment

    environment._secrets["signing"] = (time.monotonic() + 3600, "a" * 40)
    spec = importlib.util.spec_from_file_location("handler", ROOT / "functions" / "worker" / "handler.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    vars(module)["emit"] = lambda *_: None  # a line of metrics a batch belongs on no benchmark's output
    return module


def events(seed: Seeder, runs: int, batch: int) -> list[dict[str, Any]]:
    """As SQS delivers: messages of due runs, one job each."""
    at = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=1)
    messages = [seed.run(job_id, at) for job_id in seed.jobs(runs, due_at=None, payload='{"ledger": 7}')]
    records = [_record(number, message) for number, message in enumerate(messages)]
    return [{"Records": records[start : start + batch]} for start in range(0, runs, batch)]


def _record(number: int, message: LaneMessage) -> dict[str, str]:
    return {"messageId": str(number), "receiptHandle": str(number), "body": encode_message(message)}


def plain_per_second(url: str, calls: int, at_once: int) -> float:
    """httpx alone: one client, ``at_once`` calls at a time, batch after batch."""

    async def run() -> float:
        async with httpx.AsyncClient(trust_env=False) as client:
            await client.post(url, content=b"{}")
            started = time.perf_counter()
            for _ in range(calls // at_once):
                await asyncio.gather(*(client.post(url, content=b'{"ledger":7}') for _ in range(at_once)))
            return calls // at_once * at_once / (time.perf_counter() - started)

    return asyncio.run(run())


def measure(url: str, runs: int, batch: int) -> dict[str, Any]:
    with throwaway_postgres() as server, psycopg.connect(server.conninfo(), autocommit=True) as connection:
        bootstrap(connection)
        migrate(connection)
        make_partitions(connection, today=datetime.now(UTC).date())
        seed = Seeder(connection)
        connection.execute("update target set config = jsonb_build_object('url', %s::text)", (url,))
        warm, *batches = events(seed, runs + batch, batch)
        connection.execute("analyze")
        seconds = work(worker(server.conninfo(user="hourbell_worker")), warm, batches)
        succeeded = connection.execute("select count(*) from run where state = 'succeeded'").fetchone()
    assert succeeded == (runs + batch,)
    return {"calls_per_second": round(runs / seconds), "milliseconds_per_batch": round(seconds / len(batches) * 1e3, 1)}


def work(module: Any, warm: dict[str, Any], batches: list[dict[str, Any]]) -> float:
    """Seconds for all batches, after one that opens the connections."""
    module.handler(warm, None)
    started = time.perf_counter()
    failed = [module.handler(event, None)["batchItemFailures"] for event in batches]
    seconds = time.perf_counter() - started
    _, runner, executor = module.wiring()
    runner.run(executor.database.close_async())
    runner.close()
    assert not any(failed)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON line and nothing else")
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--batch", type=int, default=10)
    arguments = parser.parse_args()
    with receiver() as url:
        before = plain_per_second(url, arguments.runs, arguments.batch)
        measured = measure(url, arguments.runs, arguments.batch)
        after = plain_per_second(url, arguments.runs, arguments.batch)
    plain = round((before + after) / 2)
    result = {
        **measured,
        "plain_httpx_per_second": plain,
        "ratio": round(measured["calls_per_second"] / plain, 2),
        "runs": arguments.runs,
        "batch": arguments.batch,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
