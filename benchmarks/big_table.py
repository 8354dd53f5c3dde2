"""The cost of a claim at 100 thousand, 1 million and 10 million pending rows: it must not grow.

    python -m benchmarks.big_table [--json] [--sizes 100000,1000000,10000000]

At each size 20,000 jobs are due and all other rows are pending in the far future. Reported are the median time of the
locking select (500 rows over 128 shards, rolled back) and claims per second, ours and the barest SQL, in the same run.

The server has max_wal_size = 16 GB, and a checkpoint is written before each size. With the defaults, full-page images
(13 KB of WAL a claim at 10 M rows, 0.7 KB at 1 M) halve even the barest SQL, and hide what is measured.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time

import psycopg
from hourbell.store.claims import lock_due_of_shards

from benchmarks.hot_table import (
    HORIZON,
    NOW,
    SHARDS,
    HotTable,
    add_pending,
    barest_claims_per_second,
    hot_table,
    our_claims_per_second,
)

DUE_JOBS = 20_000
SELECT_ROWS = 500
SELECT_REPEATS = 60
ROUNDS = 3
BATCH = 4_096


def locking_select_ms(table: HotTable) -> float:
    """Median milliseconds of the locking select; the locks are given back each time."""
    times = []
    with psycopg.connect(table.conninfo) as connection:
        for _ in range(SELECT_REPEATS):
            started = time.perf_counter()
            rows = lock_due_of_shards(
                connection,
                first_shard=0,
                last_shard=SHARDS - 1,
                until=NOW + HORIZON,
                per_shard=SELECT_ROWS // SHARDS + 1,
            )
            times.append((time.perf_counter() - started) * 1000)
            connection.rollback()
            assert len(rows) >= SELECT_ROWS, len(rows)
    return statistics.median(times)


def measure(table: HotTable, size: int) -> dict[str, float]:
    table.make_all_due_again()
    select_ms = locking_select_ms(table)
    ours, limit = [], []
    for _ in range(ROUNDS):
        table.make_all_due_again()
        limit.append(barest_claims_per_second(table, batch=BATCH, claims=DUE_JOBS))
        table.make_all_due_again()
        ours.append(our_claims_per_second(table, batch=BATCH, claims=DUE_JOBS))
    return {
        "pending": size,
        "select_ms": round(select_ms, 3),
        "claims_per_second": round(statistics.median(ours)),
        "limit_per_second": round(statistics.median(limit)),
        "limit_ratio": round(statistics.median(o / b for o, b in zip(ours, limit, strict=True)), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON line and nothing else")
    parser.add_argument("--sizes", default="100000,1000000,10000000")
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.sizes.split(",")]
    results = []
    with hot_table(jobs=DUE_JOBS) as table:
        present = DUE_JOBS
        # Rows that were never claimed lie in the order in which they are read, as no table in use does.
        measure(table, present)
        for size in sizes:
            add_pending(table, size - present)
            present = size
            results.append(measure(table, size))
            if not arguments.json:
                print(results[-1], file=sys.stderr, flush=True)
    print(
        json.dumps(
            {
                "sizes": results,
                "select_ratio": round(results[-1]["select_ms"] / results[0]["select_ms"], 3),
                "limit_ratio_10m": results[-1]["limit_ratio"],
                "server": "max_wal_size 16 GB, checkpoint before each measurement",
            }
        )
    )


if __name__ == "__main__":
    main()
