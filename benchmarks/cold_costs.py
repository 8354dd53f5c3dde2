"""What the cold tier costs a month, from list prices: ``python -m benchmarks.cold_costs [--bytes-per-job 47 …]``.

Every price and every measured figure is an option; the defaults are us-east-1's list prices (read 2026-11) and what
``benchmarks.cold`` prints. A job is taken to wait for three months, so that a third of them is new each month.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, fields

GB = 2**30
SIZES = (1_000_000, 100_000_000, 1_000_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Dollars, and figures of ``benchmarks.cold``."""

    s3_gb_month: float = 0.023
    s3_put: float = 0.005 / 1_000
    s3_get: float = 0.0004 / 1_000
    aurora_gb_month: float = 0.10
    lambda_gb_second: float = 0.0000133334
    months_pending: float = 3
    bytes_per_job: float = 47
    puts_per_million: float = 8_760
    catalogue_bytes_per_job: float = 8
    hot_bytes_per_job: float = 934
    # Merged objects and what was promoted stay for 30 days as old versions.
    versions: float = 1.5
    # Freezer and loader: a tick a minute each, most of them with nothing to do.
    tick_seconds: float = 0.3
    tick_gb: float = 1.73


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Dollars a month."""

    storage: float
    requests: float
    catalogue: float
    ticks: float
    all_in_postgres: float
    object_per_job: float

    @property
    def cold_tier(self) -> float:
        return self.storage + self.requests + self.catalogue + self.ticks


def costs(jobs: int, given: Inputs) -> Costs:
    new = jobs / given.months_pending
    puts = new * given.puts_per_million / 1e6
    return Costs(
        storage=jobs * given.bytes_per_job * given.versions / GB * given.s3_gb_month,
        requests=puts * (given.s3_put + given.s3_get),
        catalogue=jobs * given.catalogue_bytes_per_job / GB * given.aurora_gb_month,
        ticks=2 * 43_200 * given.tick_seconds * given.tick_gb * given.lambda_gb_second,
        all_in_postgres=jobs * given.hot_bytes_per_job / GB * given.aurora_gb_month,
        object_per_job=new * (given.s3_put + given.s3_get),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in fields(Inputs):
        parser.add_argument(f"--{option.name.replace('_', '-')}", type=float, default=option.default)
    given = Inputs(**vars(parser.parse_args()))
    names = ("storage", "requests", "catalogue", "ticks", "cold_tier", "all_in_postgres", "object_per_job")
    sys.stdout.write(f"| pending | {' | '.join(name.replace('_', ' ') for name in names)} |\n")
    sys.stdout.write(f"|{'---|' * (len(names) + 1)}\n")
    for jobs in SIZES:
        month = costs(jobs, given)
        cells = " | ".join(f"${getattr(month, name):,.2f}" for name in names)
        sys.stdout.write(f"| {jobs // 1_000_000:,} M | {cells} |\n")


if __name__ == "__main__":
    main()
