"""Executing one batch of lane messages: hold, lease, call, complete.

    message ──hold──▶ its moment ──lease──▶ running ──call──▶ outcome ──complete──▶ recorded
       │ too early, duplicate,                │ lease lost: the attempt is cancelled,
       │ ended, paused: acknowledged          │ and nothing it wrote counts
       └ outcome not recorded: redelivered

1. Each message waits in a heap until its run may start; all that are due at the same moment are leased together, with
   their jobs and targets as they are *now*. Leasing at the last moment is what makes edits take effect at once.
2. Leased runs are called concurrently. A heartbeat extends their leases, and the visibility timeouts of their messages
   before these end; a lease that is lost cancels its attempt.
3. Outcomes are recorded together, as many as are there within ``GATHER`` of the first, fenced by lease token.
4. A retry gets a new message with a delay, or, past the lanes' limit, waits in ``wake_at`` for the reaper.
5. Only a message whose outcome could not be recorded is answered as failed.
6. Tests of targets travel in the same lanes. They are no runs, and made beside all this (``make_target_test``).
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import SystemRandom
from uuid import UUID

from hourbell.domain.limits import LEASE
from hourbell.domain.outcome import AttemptResult, decide
from hourbell.domain.recovery import RETRY_IN_LANE, WAKE_GRACE, retry_wake_at
from hourbell.domain.retry import parse_retry_policy
from hourbell.domain.run_state import Lane, RunState
from hourbell.lanes.deliveries import Delivery
from hourbell.lanes.messages import LaneMessage
from hourbell.lanes.sqs import Lanes
from hourbell.services.make_target_test import CallTarget, make_target_test
from hourbell.services.still_scheduled import still_scheduled
from hourbell.store import executions
from hourbell.store.connection import AsyncConnection, Database
from hourbell.store.executions import Completion, FreedRun, JudgedRun, LeasedRun, Verdict, WantedRun

logger = logging.getLogger(__name__)

# Jitter. From the system: environments restored from one snapshot must not all draw the same numbers.
_random = SystemRandom().random

# A message may come this much before its time and is held; one that comes earlier is a stray, acknowledged at once,
# because the run's own message or its wake_at brings it back.
HOLD_LIMIT = timedelta(seconds=10)

# How long an outcome waits for others of its batch: a statement for each costs the worker more than this.
GATHER = timedelta(milliseconds=10)

RunKey = tuple[UUID, datetime]
Lease = Callable[..., Awaitable[list[JudgedRun]]]
Execute = Callable[[LeasedRun], Awaitable[AttemptResult]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Visibility:
    """How long the lanes keep a delivered message from other workers, and how that is extended.

    ``keep``: the lane, what the deliveries are known by, seconds from now.
    """

    term: timedelta
    keep: Callable[[Lane, Sequence[str], int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Executor:
    """What a batch needs from outside. ``execute`` makes one attempt and never raises but for cancellation.

    ``visibility`` None: messages do not come from a queue. ``call`` makes the calls of tests; None: they are not made.
    """

    database: Database
    lanes: Lanes
    execute: Execute
    clock: Callable[[], datetime]
    heartbeat: timedelta = executions.HEARTBEAT
    lease: timedelta = LEASE
    visibility: Visibility | None = None
    call: CallTarget | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """One executed attempt, for metrics and logs. ``lateness_ms``: of the run's first attempt; None for a retry."""

    run_id: UUID
    state: RunState
    lateness_ms: int | None


@dataclass(slots=True)
class BatchReport:
    """What became of a batch: message ids to deliver again, and the attempts made."""

    failed: set[str] = field(default_factory=set)
    attempts: list[RunReport] = field(default_factory=list)


@dataclass(slots=True)
class _Outcome:
    run: LeasedRun
    result: AttemptResult


class _Batch:
    """The life of one batch; all its database work takes turns on the environment's one connection."""

    def __init__(self, executor: Executor, deliveries: Sequence[Delivery]) -> None:
        self._executor = executor
        self._deliveries = deliveries
        self._waiting = _unique([delivery for delivery in deliveries if not delivery.message.is_test])
        self._turn = asyncio.Lock()
        self._outcomes: asyncio.Queue[_Outcome | None] = asyncio.Queue()
        self._attempts: dict[UUID, tuple[LeasedRun, asyncio.Task[None]]] = {}
        self._visible_at = None if executor.visibility is None else executor.clock() + executor.visibility.term
        self._unleased: set[RunKey] = set()
        self._by_key: dict[RunKey, list[str]] = {}
        for delivery in deliveries:
            self._by_key.setdefault(delivery.key, []).append(delivery.message_id)
        self.report = BatchReport()

    async def run(self) -> BatchReport:
        recorder = asyncio.create_task(self._record_outcomes())
        heartbeat = asyncio.create_task(self._keep_leases())
        tests = [asyncio.create_task(self._test(each)) for each in self._deliveries if each.message.is_test]
        try:
            await self._lease_when_due()
            await asyncio.gather(*(task for _, task in list(self._attempts.values())), return_exceptions=True)
            await asyncio.gather(*tests)
        finally:
            self._outcomes.put_nowait(None)
            await recorder
            heartbeat.cancel()
        return self.report

    async def _test(self, delivery: Delivery) -> None:
        if self._executor.call is None:
            return
        test_id = delivery.message.job_id
        if not await make_target_test(self._executor.database, self._turn, self._executor.call, test_id):
            self.report.failed.add(delivery.message_id)

    # --- hold and lease ---

    async def _lease_when_due(self) -> None:
        heap = [(delivery.message.ready_at, index, delivery) for index, delivery in enumerate(self._waiting)]
        heapq.heapify(heap)
        while heap:
            ready_at = heap[0][0]
            ahead = ready_at - self._executor.clock()
            if ahead > HOLD_LIMIT:
                return  # strays, every one that is left
            if ahead > timedelta(0):
                await asyncio.sleep(ahead.total_seconds())
            moment = max(ready_at, self._executor.clock())
            due = []
            while heap and heap[0][0] <= moment:
                due.append(heapq.heappop(heap)[2])
            for part in _one_run_a_job(due):
                for again, delivery in await self._lease([(delivery, False) for delivery in part]):
                    heapq.heappush(heap, (again, len(self._waiting) + id(delivery), delivery))

    async def _lease(self, due: list[tuple[Delivery, bool]]) -> list[tuple[datetime, Delivery]]:
        """Lease, start what was leased, and answer what must be held a little longer.

        Most runs compete with nobody, and one statement leases them, a transaction by itself. What it leased is started
        also when those that do compete cannot be judged.
        """
        wanted = sorted((*delivery.key, checked, delivery.message.lane) for delivery, checked in due)
        by_key = {delivery.key: delivery for delivery, _ in due}
        async with self._turn:
            runs = await self._judge(wanted, executions.lease_runs, single=True)
            settled = {run.key for run in runs}.union(self._unleased)
            if contended := [run for run in wanted if run[:2] not in settled]:
                runs += await self._judge(contended, executions.lease_contended_runs, single=False)
        return await self._follow(runs, by_key)

    async def _judge(self, wanted: Sequence[WantedRun], lease: Lease, *, single: bool) -> list[JudgedRun]:
        try:
            return await self._executor.database.run_async(
                lambda connection: lease(connection, wanted, lease=self._executor.lease), single=single
            )
        except Exception as error:  # noqa: BLE001 - whatever it was, the messages must come back
            logger.error("lease failed", extra={"action": "lease", "error": str(error)})
            for job_id, scheduled_for, *_ in wanted:
                self._unleased.add((job_id, scheduled_for))
                self._fail((job_id, scheduled_for))
            return []

    async def _follow(
        self, runs: list[JudgedRun], by_key: Mapping[RunKey, Delivery]
    ) -> list[tuple[datetime, Delivery]]:
        """Do as was judged; answers what must be held a little longer."""
        again: list[tuple[datetime, Delivery]] = []
        recheck: list[JudgedRun] = []
        for run in runs:
            if run.leased is not None:
                self._start(run.leased)
            elif run.verdict is Verdict.EARLY:
                # The database's clock decides: hold for what is left by its own measure.
                again.append((self._executor.clock() + run.remaining, by_key[run.key]))
            elif run.verdict is Verdict.RECHECK:
                recheck.append(run)
            else:
                logger.info("run not started", extra={"action": "lease", "run": str(run.run_id), "why": run.verdict})
        if recheck:
            again.extend(await self._recheck(recheck, by_key))
        return again

    async def _recheck(
        self, runs: list[JudgedRun], by_key: Mapping[RunKey, Delivery]
    ) -> list[tuple[datetime, Delivery]]:
        """Runs planned for an older schedule: those the present one still has are leased, the others cancelled."""
        kept: list[RunKey] = []
        stale: list[RunKey] = []
        for run in runs:
            (kept if still_scheduled(run) else stale).append(run.key)
        if stale:
            try:
                async with self._turn:
                    await self._executor.database.run_async(
                        lambda connection: executions.cancel_rescheduled(connection, stale)
                    )
            except Exception as error:  # noqa: BLE001 - the messages come back, and with them the decision
                logger.error("cancel failed", extra={"action": "cancel_rescheduled", "error": str(error)})
                for key in stale:
                    self._fail(key)
        return await self._lease([(by_key[key], True) for key in kept]) if kept else []

    def _start(self, run: LeasedRun) -> None:
        self._attempts[run.token] = (run, asyncio.create_task(self._attempt(run)))

    async def _attempt(self, run: LeasedRun) -> None:
        result = await self._executor.execute(run)
        if result.accepted:
            # The target goes on by itself and reports through the API: from here on the lease is its own to keep.
            await self._extend([(run.job_id, run.scheduled_for, run.token)])
        else:
            self._outcomes.put_nowait(_Outcome(run, result))

    # --- heartbeat ---

    async def _keep_leases(self) -> None:
        while True:
            await asyncio.sleep(self._executor.heartbeat.total_seconds())
            held = sorted((run.job_id, run.scheduled_for, run.token) for run in self._working())
            if held:
                await self._extend(held)
                await self._keep_messages({run.key for run in self._working()})

    def _working(self) -> list[LeasedRun]:
        return [run for run, task in self._attempts.values() if not task.done()]

    async def _keep_messages(self, held: set[RunKey]) -> None:
        """Extend visibility in time: with three heartbeats to go, two may fail."""
        visibility = self._executor.visibility
        now = self._executor.clock()
        if visibility is None or self._visible_at is None or self._visible_at - now > 3 * self._executor.heartbeat:
            return
        kept = [delivery for delivery in self._deliveries if delivery.key in held and delivery.receipt]
        for lane in {delivery.message.lane for delivery in kept}:
            receipts = [delivery.receipt for delivery in kept if delivery.message.lane is lane]
            await asyncio.to_thread(visibility.keep, lane, receipts, math.ceil(visibility.term.total_seconds()))
        self._visible_at = now + visibility.term

    async def _extend(self, held: list[tuple[UUID, datetime, UUID]]) -> None:
        try:
            async with self._turn:
                standing = await self._executor.database.run_async(
                    lambda connection: executions.extend_leases(connection, held, lease=self._executor.lease)
                )
        except Exception as error:  # noqa: BLE001 - the next beat may reach the database again
            logger.warning("heartbeat failed", extra={"action": "heartbeat", "error": str(error)})
            return
        for _, _, token in held:
            if token not in standing:
                run, task = self._attempts[token]
                if not task.done():
                    task.cancel()
                    logger.warning("lease lost", extra={"action": "heartbeat", "run": str(run.run_id)})

    # --- record ---

    async def _record_outcomes(self) -> None:
        open_ = True
        while open_:
            outcomes = []
            item = await self._outcomes.get()
            await self._gather()
            while item is not None:
                outcomes.append(item)
                if self._outcomes.empty():
                    break
                item = self._outcomes.get_nowait()
            else:
                open_ = False
            if outcomes:
                await self._record(outcomes)

    async def _gather(self) -> None:
        """Let the outcomes of calls that end together be recorded together; the last one waits for nothing."""
        working = [task for _, task in self._attempts.values() if not task.done()]
        if working:
            await asyncio.wait(working, timeout=GATHER.total_seconds())

    async def _record(self, outcomes: list[_Outcome]) -> None:
        now = self._executor.clock()
        completions = sorted(
            (_completion(outcome, now) for outcome in outcomes), key=lambda c: (c.job_id, c.scheduled_for)
        )
        runs = {outcome.run.token: outcome.run for outcome in outcomes}
        gone = [outcome.run.token for outcome in outcomes if outcome.result.gone]
        try:
            async with self._turn:
                counted, freed = await self._executor.database.run_async(
                    lambda connection: _complete(connection, completions, runs, gone),
                    single=not gone and not any(_is_waited_for(run) for run in runs.values()),
                )
        except Exception as error:  # noqa: BLE001 - not recorded: the one case for redelivery
            logger.error("outcomes not recorded", extra={"action": "complete", "error": str(error)})
            for outcome in outcomes:
                self._fail(outcome.run.key)
            return
        self._report(outcomes, completions, counted)
        retries = [c for c in completions if c.token in counted and c.state == RunState.RETRYING]
        messages = self._retry_messages(retries, {outcome.run.key: outcome.run for outcome in outcomes}, now)
        messages += [_freed_message(run) for run in freed]
        if messages:
            # A message that is not accepted is not lost: the reaper sends it at wake_at.
            await asyncio.to_thread(self._executor.lanes.send, messages, now=now)

    def _report(self, outcomes: list[_Outcome], completions: list[Completion], counted: set[UUID]) -> None:
        states = {completion.token: completion.state for completion in completions}
        for run in (outcome.run for outcome in outcomes):
            if run.token not in counted:
                logger.warning("outcome came too late", extra={"action": "complete", "run": str(run.run_id)})
                continue
            is_first = run.attempt == run.attempts_before + 1
            lateness_ms = (run.started_at - run.fire_at) // timedelta(milliseconds=1) if is_first else None
            state = RunState(states[run.token])
            self.report.attempts.append(RunReport(run_id=run.run_id, state=state, lateness_ms=lateness_ms))

    def _retry_messages(
        self, retries: list[Completion], runs: Mapping[RunKey, LeasedRun], now: datetime
    ) -> list[LaneMessage]:
        tenants = {delivery.key: delivery.message.tenant_id for delivery in self._waiting}
        return [
            LaneMessage(
                job_id=c.job_id,
                scheduled_for=c.scheduled_for,
                tenant_id=tenants[(c.job_id, c.scheduled_for)],
                lane=Lane(runs[(c.job_id, c.scheduled_for)].lane),
                ready_at=c.next_attempt_at,
            )
            for c in retries
            if c.next_attempt_at is not None and c.next_attempt_at - now <= RETRY_IN_LANE
        ]

    def _fail(self, key: RunKey) -> None:
        self.report.failed.update(self._by_key[key])


async def execute_batch(executor: Executor, deliveries: Sequence[Delivery]) -> BatchReport:
    """Execute a batch to its end; answers which messages must be delivered again."""
    return await _Batch(executor, deliveries).run()


def _unique(deliveries: Sequence[Delivery]) -> list[Delivery]:
    """One delivery per run: a duplicate in the same batch shares its fate."""
    return list({delivery.key: delivery for delivery in deliveries}.values())


def _one_run_a_job(due: Sequence[Delivery]) -> list[list[Delivery]]:
    """Split so that no part has two runs of a job: overlap is judged between statements, not inside one."""
    parts: list[list[Delivery]] = []
    seen: dict[UUID, int] = {}
    for delivery in sorted(due, key=lambda delivery: delivery.message.scheduled_for):
        job_id = delivery.message.job_id
        number = seen.get(job_id, 0)
        seen[job_id] = number + 1
        if number == len(parts):
            parts.append([])
        parts[number].append(delivery)
    return parts


def _is_waited_for(run: LeasedRun) -> bool:
    """Whether the end of this run may let another one start."""
    return run.limited or run.overlap == "buffer_one"


async def _complete(
    connection: AsyncConnection,
    completions: Sequence[Completion],
    runs: Mapping[UUID, LeasedRun],
    gone: Sequence[UUID],
) -> tuple[set[UUID], list[FreedRun]]:
    """Record outcomes, and free what waited for these runs to end. ``gone``: tokens whose target is no more."""
    if gone:
        await executions.lock_gone_jobs(connection, [runs[token].job_id for token in gone])
    counted = await executions.complete_runs(connection, completions)
    if left := [(runs[c.token], c.error) for c in completions if c.token in gone and c.token in counted]:
        await executions.pause_gone_jobs(connection, left)
    ended = [runs[c.token] for c in completions if c.token in counted and c.wake_at is None]
    freed: list[FreedRun] = []
    if waited_for := sorted({run.job_id for run in ended if run.overlap == "buffer_one"}):
        freed += await executions.release_buffered(connection, waited_for, grace=WAKE_GRACE)
    # Also a retry gives its slot back: it takes one again when its time comes.
    if targets := sorted({runs[token].target_id for token in counted if runs[token].limited}):
        freed += await executions.offer_slots(connection, targets, grace=WAKE_GRACE)
    return counted, freed


def _freed_message(run: FreedRun) -> LaneMessage:
    return LaneMessage(
        job_id=run.job_id,
        scheduled_for=run.scheduled_for,
        tenant_id=run.tenant_id,
        lane=Lane(run.lane),
        ready_at=run.next_attempt_at,
    )


def _completion(outcome: _Outcome, now: datetime) -> Completion:
    run, result = outcome.run, outcome.result
    decision = decide(
        result,
        retry=parse_retry_policy(run.retry),
        attempt=run.attempt - run.attempts_before,
        fire_at=run.fire_at,
        now=now,
        random=_random(),
    )
    return Completion(
        job_id=run.job_id,
        scheduled_for=run.scheduled_for,
        token=run.token,
        state=decision.state,
        reason=decision.reason,
        error=result.error,
        next_attempt_at=decision.next_attempt_at,
        wake_at=None if decision.next_attempt_at is None else retry_wake_at(decision.next_attempt_at, now),
        outcome=result.outcome,
        status_code=result.status_code,
        duration_ms=result.duration_ms,
    )
