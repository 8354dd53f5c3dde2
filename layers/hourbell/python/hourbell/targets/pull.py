"""The ``pull`` target: nothing is called. Workers outside fetch its runs, and end them through the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hourbell.domain.outcome import AttemptOutcome, AttemptResult
from hourbell.targets.call import TargetCall


def check(_config: Mapping[str, Any]) -> dict[str, Any]:
    """The config to be stored: there is none."""
    return {}


async def call(_call: TargetCall) -> AttemptResult:
    """Refuse: no lane's worker leases such a run."""
    error = "runs of this target are pulled by workers of its own"
    return AttemptResult(outcome=AttemptOutcome.FAILED, retryable=False, error=error)
