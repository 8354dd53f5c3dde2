"""Backfill runs whose turn has come get their moments: of a rate-limited target, those that scheduled runs leave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from hourbell.domain.backfill import ASK_AGAIN, PATIENCE, REASON_WAITS
from hourbell.domain.instants import floor_ms
from hourbell.domain.pacing import Pace, reserve
from hourbell.domain.recovery import WAKE_EARLY, WAKE_GRACE
from hourbell.store import pacing
from hourbell.store.connection import Connection
from hourbell.store.pacing import PacedTarget, WaitingRun
from hourbell.store.recovery import WakefulRun


def admit_backfill(connection: Connection, runs: Sequence[WakefulRun], *, now: datetime) -> list[WakefulRun]:
    """The runs that go on, those of a backfill with their moments; the rest of it is put off, and left out here."""
    others = [run for run in runs if run.reason != REASON_WAITS]
    waiting = [run for run in runs if run.reason == REASON_WAITS]
    if not waiting:
        return others
    targets = pacing.lock_paced_targets(connection, {run.target_id for run in waiting})
    admitted, tats = _admit(waiting, {target.target_id: target for target in targets}, now)
    pacing.write_arrival_times(connection, tats)
    keys = {(run.job_id, run.scheduled_for) for run in admitted}
    put_off = [
        replace(run, fire_at=now + ASK_AGAIN + WAKE_EARLY)
        for run in waiting
        if (run.job_id, run.scheduled_for) not in keys
    ]
    pacing.move_waiting_runs(connection, _moved(admitted), grace=WAKE_GRACE)
    pacing.move_waiting_runs(connection, _moved(put_off), grace=-WAKE_EARLY)
    return others + admitted


def _admit(
    waiting: Sequence[WakefulRun], targets: Mapping[UUID, PacedTarget], now: datetime
) -> tuple[list[WakefulRun], dict[UUID, datetime]]:
    admitted: list[WakefulRun] = []
    tats = {target_id: target.tat for target_id, target in targets.items() if target.tat is not None}
    for run in sorted(waiting, key=lambda run: (run.fire_at, run.job_id)):
        moment = max(run.fire_at, now)
        target = targets.get(run.target_id)
        if target is not None:
            pace = Pace(rate_per_second=target.rate_per_second, burst=target.burst)
            release, tat = reserve(pace, tats.get(target.target_id), moment)
            if release - moment > PATIENCE:
                continue
            moment, tats[target.target_id] = floor_ms(release), tat
        admitted.append(replace(run, reason=None, fire_at=moment, next_attempt_at=moment))
    return admitted, tats


def _moved(runs: Iterable[WakefulRun]) -> list[WaitingRun]:
    return [
        WaitingRun(
            job_id=run.job_id,
            scheduled_for=run.scheduled_for,
            tenant_id=run.tenant_id,
            lane=run.lane,
            fire_at=run.fire_at,
            window_ms=0,
        )
        for run in runs
    ]
