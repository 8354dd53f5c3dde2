"""One attempt of a leased run on its target."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from datetime import timedelta

from hourbell.domain.errors import FieldError, FieldErrors, HourbellError
from hourbell.domain.outcome import AttemptOutcome, AttemptResult
from hourbell.domain.target_kind import TargetKind
from hourbell.store.executions import LeasedRun
from hourbell.targets.call import TargetCall, clean_error
from hourbell.targets.registry import Callers, call_target

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptExecutor:
    """Makes attempts with one environment's callers."""

    callers: Callers

    async def execute(self, run: LeasedRun) -> AttemptResult:
        """Make one attempt; whatever goes wrong becomes its result."""
        return await self.call(run.target_kind, _call(run))

    async def call(self, kind: str, call: TargetCall) -> AttemptResult:
        """Call a target of this kind; whatever goes wrong becomes the result."""
        try:
            return await call_target(TargetKind(kind), self.callers, call)
        except (FieldError, FieldErrors) as error:
            return _failed(f"target: {error}", retryable=False)
        except HourbellError as error:
            return _failed(str(error), retryable=True)
        except Exception as error:
            logger.exception("target cannot be called", extra={"action": "execute", "run": str(call.run_id)})
            return _failed(f"target: {type(error).__name__}: {error}", retryable=False)


def _call(run: LeasedRun) -> TargetCall:
    return TargetCall(
        config=run.target_config,
        payload=run.payload,
        timeout=timedelta(milliseconds=run.timeout_ms),
        target_id=run.target_id,
        run_id=run.run_id,
        job_id=run.job_id,
        scheduled_for=run.scheduled_for,
        attempt=run.attempt,
        lease_token=run.token,
        progress=None if run.progress is None else json.dumps(run.progress, separators=(",", ":")),
    )


def _failed(error: str, *, retryable: bool) -> AttemptResult:
    return AttemptResult(outcome=AttemptOutcome.FAILED, retryable=retryable, error=clean_error(error))
