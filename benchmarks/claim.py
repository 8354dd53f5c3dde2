"""Claims per second, beside the barest SQL that does the same writes on the same server in the same run.

    python -m benchmarks.claim [--json] [--jobs 100000] [--rounds 3]

100 distinct cron expressions in a zone with clock changes. Medians over the rounds; ours and the limit take turns.
"""

from __future__ import annotations

import argparse
import json
import statistics

from benchmarks.hot_table import barest_claims_per_second, hot_table, our_claims_per_second

BATCH = 4_096


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON line and nothing else")
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    ours, limit = [], []
    with hot_table(jobs=arguments.jobs) as table:
        for number in range(arguments.rounds):
            limit.append(barest_claims_per_second(table, batch=BATCH, claims=arguments.jobs))
            table.make_all_due_again()
            ours.append(our_claims_per_second(table, batch=BATCH, claims=arguments.jobs))
            table.make_all_due_again()
            if not arguments.json:
                print(f"round {number + 1}: ours {ours[-1]:,.0f}/s, barest SQL {limit[-1]:,.0f}/s")
    result = {
        "jobs": arguments.jobs,
        "batch": BATCH,
        "expressions": 100,
        "claims_per_second": round(statistics.median(ours)),
        "limit_per_second": round(statistics.median(limit)),
        "ratio": round(statistics.median(o / b for o, b in zip(ours, limit, strict=True)), 3),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
