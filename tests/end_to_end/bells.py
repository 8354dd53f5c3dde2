"""A job and the place it calls, and the waiting that a real clock asks for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hourbell.client import Client, Job, Run
from hourbell.domain.instants import floor_ms

from tests.end_to_end.sink import Place


def soon(seconds: float) -> datetime:
    """A moment from now, to the millisecond."""
    return floor_ms(datetime.now(UTC) + timedelta(seconds=seconds))


def until(holds: Callable[[], bool], *, seconds: float) -> bool:
    """Ask again and again until it holds; whether it came to hold in time."""
    give_up_at = time.monotonic() + seconds
    pause = threading.Event()
    while not holds():
        if time.monotonic() > give_up_at:
            return False
        pause.wait(0.1)
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Bell:
    """A job on a place of its own."""

    client: Client
    place: Place
    job: Job

    def runs(self) -> list[Run]:
        return self.client.job_runs(self.job["id"], limit=200)["items"]

    def planned(self) -> list[Run]:
        """Those that wait for their time in a lane: the other lists are history."""
        return self.client.list_runs(job=self.job["id"], state="queued")["items"]

    def only_run(self) -> Run:
        (run,) = self.runs()
        return self.client.get_run(run["id"])

    def run_in(self, *states: str, seconds: float = 5) -> Run:
        """Its only run, as soon as it is in one of these states."""
        assert until(lambda: [run["state"] in states for run in self.runs()] == [True], seconds=seconds), self.runs()
        return self.only_run()


Hang = Callable[..., Bell]
