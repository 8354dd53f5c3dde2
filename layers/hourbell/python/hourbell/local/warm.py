"""Starting Lambda environments before they are needed.

A new environment unpacks its layers and imports its code: seconds of CPU on a laptop, during which a due run would
wait. As many as a lane can use at once are started here, a few at a time, so that they do not starve each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from hourbell.domain.limits import SHARDS
from hourbell.local import aws
from hourbell.local.progress import Progress

Task = Callable[[], object]

EMPTY_BATCH: Mapping[str, Any] = {"Records": []}
ALL_SHARDS: Mapping[str, Any] = {"first_shard": 0, "last_shard": SHARDS - 1}


def warm(tasks: Iterable[tuple[str, Task]], progress: Progress) -> None:
    """Run all tasks at once, telling as each is done. One that fails only leaves its environment cold."""
    named = dict(enumerate(tasks))
    with ThreadPoolExecutor(max_workers=max(1, len(named))) as pool:
        pending = {pool.submit(task): name for name, task in named.values()}
        for done, future in enumerate(as_completed(pending), 1):
            error = future.exception()
            outcome = f"stays cold: {error}" if error else "warm"
            progress.detail(f"{pending[future]} {outcome} ({done}/{len(pending)})")


def function_tasks(endpoint: str) -> list[tuple[str, Task]]:
    """One task per environment that the lanes may use at once, and one for each function on a clock."""
    client = aws.lambda_client(endpoint)

    def task(function: str, event: Mapping[str, Any]) -> Task:
        return lambda: aws.invoke(client, function, event)

    workers = [
        (f"{function} {number + 1}", task(function, EMPTY_BATCH))
        for function, count in sorted(aws.lane_workers(client).items())
        for number in range(count)
    ]
    return [*workers, ("scanner", task("scanner", ALL_SHARDS)), ("reaper", task("reaper", {}))]
