"""The demonstration: jobs are created over HTTP, a receiver counts what rings, and the result is checked.

What should have rung is computed here, offline, from each schedule; then it is held against what the receiver got and
against the run records. Nothing the scheduler says of itself is taken on trust.
"""

from __future__ import annotations

import json
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from hourbell.client import ApiError, Client, Job, Run
from hourbell.domain import ids
from hourbell.domain.instants import format_instant, parse_instant
from hourbell.domain.schedule import next_after, schedule_from_json
from hourbell.local.receiver import Call, Receiver

WATCHED = timedelta(seconds=20)
LATE = timedelta(seconds=1)
# After the last occurrence: the second it may be late, and the moment its outcome takes to be recorded.
_GRACE = timedelta(seconds=2)
_REFRESH_SECONDS = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Bell:
    """One job of the demonstration and every time it must ring."""

    label: str
    job: Job
    occurrences: tuple[datetime, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of it. The three lists of failures are empty when all is well.

    Attributes:
        lateness_ms: of each call, as the receiver's clock saw it, in order of size.
    """

    expected: int
    received: int
    lateness_ms: tuple[float, ...]
    missing: tuple[str, ...]
    doubled: tuple[str, ...]
    late: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether every run rang once and in time."""
        return not (self.missing or self.doubled or self.late)

    def percentile(self, share: float) -> float:
        """The lateness that this share of the calls did not exceed."""
        if not self.lateness_ms:
            return 0.0
        return self.lateness_ms[min(len(self.lateness_ms) - 1, int(share * len(self.lateness_ms)))]


Watch = Callable[[Sequence[Bell], Sequence[Call], datetime], None]


def run_demo(client: Client, *, watch: Watch, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Verdict:
    """Create the jobs, watch them ring, check the result, and remove them again.

    Args:
        watch: called a few times a second with the jobs, the calls so far and the end of the watched time.
    """
    with Receiver() as receiver:
        target = client.create_target(f"demo-{secrets.token_hex(3)}", {"url": f"{receiver.url}/ring"})
        bells: list[Bell] = []
        try:
            start = clock()
            until = start + WATCHED
            bells = _create(client, target["name"], demo_schedules(start), until)
            while clock() < until + _GRACE:
                watch(bells, asked_for(receiver.calls(), until), until)
                time.sleep(_REFRESH_SECONDS)
            calls = receiver.calls()
            runs = [_explained(client, run) for bell in bells for run in _runs_of(client, bell)]
        finally:
            _remove(client, bells, target["id"])
    return judge(bells, calls, runs, until=until)


def _create(
    client: Client, target: str, schedules: Sequence[tuple[str, dict[str, Any]]], until: datetime
) -> list[Bell]:
    """All jobs in one call: on a slow machine, one by one could last longer than the first of them may wait."""
    definitions = [
        {"schedule": schedule, "target": target, "payload": {"ring": label}, "tags": {"demo": "yes"}}
        for label, schedule in schedules
    ]
    jobs: list[Job] = client.create_jobs(definitions)["items"]
    return [
        Bell(label=label, job=job, occurrences=expected_occurrences(job, until))
        for (label, _), job in zip(schedules, jobs, strict=True)
    ]


def demo_schedules(start: datetime) -> list[tuple[str, dict[str, Any]]]:
    """What rings in the demonstration; ``start`` places the one-offs.

    What rings often ends by itself when nobody watches any more: nothing of it is left to be cancelled.
    """
    end_at = format_instant(start + WATCHED)
    one_offs = [4.0, 9.25, 13.507, 13.508, 16.75, 19.999, 24.321]
    return [
        ("every five seconds", {"cron": "*/5 * * * * *", "timezone": "UTC", "end_at": end_at}),
        ("on odd sevenths, in Kolkata", {"cron": "7-59/14 * * * * *", "timezone": "Asia/Kolkata", "end_at": end_at}),
        ("every 2 s", {"every": "PT2S", "end_at": end_at}),
        ("every 3 s", {"every": "PT3S", "end_at": end_at}),
        *(
            (f"once, after {offset:g} s", {"at": format_instant(start + timedelta(seconds=offset))})
            for offset in one_offs
        ),
        ("each minute", {"cron": "* * * * *", "timezone": "UTC"}),
        ("each quarter of an hour", {"cron": "*/15 * * * *", "timezone": "UTC"}),
        ("weekday mornings in Berlin", {"cron": "30 9 * * 1-5", "timezone": "Europe/Berlin"}),
        ("nightly in New York", {"cron": "0 2 * * *", "timezone": "America/New_York"}),
        ("first of the month", {"cron": "0 0 1 * *", "timezone": "UTC"}),
    ]


def expected_occurrences(job: Job, until: datetime) -> tuple[datetime, ...]:
    """Every time this job rings up to ``until``, computed from its schedule alone."""
    if job["next_run_at"] is None:
        return ()
    schedule = schedule_from_json(json.dumps(job["schedule"]))
    job_id = ids.decode("job", job["id"])
    found = []
    occurrence = next_after(schedule, job_id, parse_instant(job["next_run_at"], field="next_run_at"), inclusive=True)
    while occurrence is not None and occurrence.scheduled_for <= until:
        found.append(occurrence.scheduled_for)
        occurrence = next_after(schedule, job_id, occurrence.scheduled_for)
    return tuple(found)


def judge(bells: Sequence[Bell], calls: Iterable[Call], runs: Iterable[Run], *, until: datetime) -> Verdict:
    """Hold what should have rung against what the receiver got and what the run records say."""
    watched = asked_for(calls, until)
    received = Counter(call.run_id for call in watched)
    recorded = {run["id"]: run for run in runs}
    wanted = {
        ids.encode("run", ids.run_id(ids.decode("job", bell.job["id"]), occurrence)): (bell.label, occurrence)
        for bell in bells
        for occurrence in bell.occurrences
    }
    names = {run_id: f"{label}, {format_instant(occurrence)}" for run_id, (label, occurrence) in wanted.items()}
    limit_ms = LATE.total_seconds() * 1000
    lateness = {call.run_id: call.lateness_ms or 0.0 for call in watched}
    return Verdict(
        expected=len(wanted),
        received=len(watched),
        lateness_ms=tuple(sorted(lateness.values())),
        missing=tuple(
            f"{name} ({_fate_of(recorded.get(run_id))})"
            for run_id, name in names.items()
            if run_id not in received or _state_of(recorded.get(run_id)) != "succeeded"
        ),
        doubled=tuple(
            f"{names.get(run_id, run_id)} ({count} calls)"
            for run_id, count in received.items()
            if count > 1 or run_id not in wanted
        ),
        late=tuple(
            f"{names.get(run_id, run_id)} ({value:.0f} ms)" for run_id, value in lateness.items() if value > limit_ms
        ),
    )


def asked_for(calls: Iterable[Call], until: datetime) -> list[Call]:
    """Those that count: what rings in the seconds of grace is not asked for."""
    return [call for call in calls if call.scheduled_for is not None and call.scheduled_for <= until]


def _state_of(run: Run | None) -> str:
    return "no run record" if run is None else run["state"]


def _fate_of(run: Run | None) -> str:
    errors = [attempt["error"] for attempt in run.get("attempts", []) if attempt["error"]] if run else []
    return f"{_state_of(run)}: {errors[-1]}" if errors else _state_of(run)


def _explained(client: Client, run: Run) -> Run:
    """A run that was tried in vain, with its attempts and their errors."""
    return client.get_run(run["id"]) if run["state"] in ("retrying", "dead") else run


def _runs_of(client: Client, bell: Bell) -> list[Run]:
    found: list[Run] = []
    cursor = None
    while bell.occurrences:
        page = client.job_runs(bell.job["id"], limit=200, cursor=cursor)
        found += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    return found


def _remove(client: Client, bells: Sequence[Bell], target_id: str) -> None:
    for bell in bells:
        client.delete_job(bell.job["id"])
    for run in list(client.iter_runs(target=target_id, state="queued")):
        with suppress(ApiError):  # it began or ended meanwhile
            client.cancel_run(run["id"])
    with suppress(ApiError):  # a run of it is in a worker's hands
        client.delete_target(target_id)
