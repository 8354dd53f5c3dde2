"""One attempt of a leased run on its target."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import httpx

from hourbell.domain.errors import HourbellError
from hourbell.domain.outcome import AttemptOutcome, AttemptResult
from hourbell.store.executions import LeasedRun
from hourbell.targets.http import HttpCall, call_http
from hourbell.targets.signature import parse_secret, signing_key

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptExecutor:
    """Makes attempts over one HTTP client.

    ``stage_key`` and ``read_secret`` may read Secrets Manager, cached; they raise ``HourbellError``.
    """

    client: httpx.AsyncClient
    clock: Callable[[], datetime]
    stage_key: Callable[[], bytes]
    read_secret: Callable[[str], str]

    async def execute(self, run: LeasedRun) -> AttemptResult:
        """Make one attempt; whatever goes wrong becomes its result."""
        try:
            call = self._http_call(run)
        except HourbellError as error:
            return AttemptResult(outcome=AttemptOutcome.FAILED, retryable=True, error=str(error)[:500])
        except Exception as error:
            logger.exception("target cannot be read", extra={"action": "execute", "run": str(run.run_id)})
            return AttemptResult(
                outcome=AttemptOutcome.FAILED,
                retryable=False,
                error=f"target: {type(error).__name__}: {error}"[:500],
            )
        return await call_http(self.client, call, now=self.clock())

    def _http_call(self, run: LeasedRun) -> HttpCall:
        config = run.target_config
        return HttpCall(
            url=config["url"],
            method=config.get("method", "POST"),
            headers=config.get("headers") or {},
            body=run.payload.encode(),
            key=self._key(run.target_id, config.get("secret")),
            timeout=timedelta(milliseconds=run.timeout_ms),
            run_id=run.run_id,
            job_id=run.job_id,
            scheduled_for=run.scheduled_for,
            attempt=run.attempt,
            lease_token=run.token,
            progress=None if run.progress is None else json.dumps(run.progress, separators=(",", ":")),
        )

    def _key(self, target_id: UUID, secret: str | None) -> bytes:
        if secret is not None:
            return parse_secret(self.read_secret(secret))
        return signing_key(self.stage_key(), target_id)
