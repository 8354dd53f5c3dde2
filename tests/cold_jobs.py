"""Cold jobs for tests."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from hourbell.cold.record import ColdJob
from hourbell.domain.ids import due_hour_of, new_job_id
from hourbell.domain.instants import format_instant

from tests.seeds import T0

NOBODY = UUID("0192a000-0000-7000-8000-000000000000")


def cold_job(scheduled_for: datetime, *, created_at: datetime = T0, **values: Any) -> ColdJob:
    """A one-off, born cold."""
    job_id = new_job_id(created_at, due_hour=due_hour_of(scheduled_for))
    defaults: dict[str, Any] = {
        "job_id": job_id,
        "tenant_id": NOBODY,
        "target_id": NOBODY,
        "name": None,
        "schedule": f'{{"at":"{format_instant(scheduled_for)}","timezone":null,"gap":"run","repeat":"once"}}',
        "payload": '{"n":1}',
        "window_ms": 0,
        "catch_up": '{"policy":"run_once","within":null}',
        "overlap": "allow",
        "retry": '{"max_attempts":3,"backoff":"exponential","initial":"PT1S","maximum":"PT10S"}',
        "timeout_ms": 5_000,
        "tags": "{}",
        "version": 1,
        "scheduled_for": scheduled_for,
        "fire_at": scheduled_for,
        "created_at": created_at,
        "zone_data": "2026c",
    }
    return ColdJob(**{**defaults, **values})


def hours(count: float) -> timedelta:
    """Shorter in tests."""
    return timedelta(hours=count)
