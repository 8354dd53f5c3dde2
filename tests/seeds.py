"""Rows for tests, straight into the tables, and lanes that remember what was sent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
from hourbell.domain.ids import new_id, new_job_id, run_id, shard_of
from hourbell.domain.run_state import QUEUES, Lane
from hourbell.lanes.messages import LaneMessage

# A Sunday without clock changes nearby.
T0 = datetime(2027, 5, 9, 12, 0, tzinfo=UTC)

DAILY = {"cron": "0 12 * * *", "timezone": "UTC"}


@dataclass(slots=True)
class RecordingLanes:
    """Lanes in memory: what was sent, what may be refused, and what waits there."""

    sent: list[LaneMessage] = field(default_factory=list)
    refuse: int = 0
    waiting: dict[Lane, int] = field(default_factory=dict)

    def send(self, messages: Sequence[LaneMessage], *, now: datetime) -> list[LaneMessage]:
        messages = [message for message in messages if message.lane in QUEUES]
        refused = list(messages[: self.refuse])
        self.refuse -= len(refused)
        self.sent.extend(messages[len(refused) :])
        return refused

    def backlog(self, lane: Lane) -> int:
        return self.waiting.get(lane, 0)

    def take(self) -> list[LaneMessage]:
        """What was sent since the last time."""
        taken, self.sent = self.sent, []
        return taken


@dataclass(slots=True)
class Seeder:
    """Writes rows for one tenant and one target of a test database."""

    connection: psycopg.Connection[Any]
    name: str = "acme"
    tenant_id: UUID = field(init=False)
    target_id: UUID = field(init=False)

    def __post_init__(self) -> None:
        self.tenant_id = self.tenant(self.name)
        self.target_id = self.target("sink")

    def tenant(self, name: str) -> UUID:
        tenant_id = new_id(T0)
        self.connection.execute("insert into tenant (tenant_id, name) values (%s, %s)", (tenant_id, name))
        return tenant_id

    def target(self, name: str, url: str = "http://127.0.0.1:9/", *, kind: str = "http", **config: Any) -> UUID:
        target_id = new_id(T0)
        self.connection.execute(
            "insert into target (target_id, tenant_id, name, kind, config, config_sha256, created_at, updated_at) "
            "values (%s, %s, %s, %s, %s, %s, %s, %s)",
            (target_id, self.tenant_id, name, kind, json.dumps({"url": url, **config}), target_id.bytes * 2, T0, T0),
        )
        return target_id

    def job(self, schedule: dict[str, Any] | None = None, *, due_at: datetime | None = T0, **columns: Any) -> UUID:
        """One active job, with its due row unless ``due_at`` is None."""
        (job_id,) = self.jobs(1, schedule, due_at=due_at, **columns)
        return job_id

    def jobs(
        self, count: int, schedule: dict[str, Any] | None = None, *, due_at: datetime | None = T0, **columns: Any
    ) -> list[UUID]:
        """Many jobs of one schedule."""
        job_ids = [new_job_id(T0) for _ in range(count)]
        row = {
            "tenant_id": self.tenant_id,
            "target_id": self.target_id,
            "state": "active",
            "schedule": json.dumps(schedule or DAILY),
            "payload": "{}",
            "catch_up": '{"policy": "run_once", "within": null}',
            "overlap": "allow",
            "retry": json.dumps({"max_attempts": 3, "backoff": "exponential", "initial": "PT1S", "maximum": "PT10S"}),
            "timeout_ms": 5_000,
            "tags": "{}",
            "created_at": T0,
            "updated_at": T0,
            **columns,
        }
        with self.connection.cursor() as cursor:
            with cursor.copy(f"copy job (job_id, {', '.join(row)}) from stdin") as copy:
                for job_id in job_ids:
                    copy.write_row((job_id, *row.values()))
            if due_at is not None:
                with cursor.copy(
                    "copy due (job_id, tenant_id, shard_id, next_run_at, scheduled_for) from stdin"
                ) as copy:
                    for job_id in job_ids:
                        copy.write_row((job_id, row["tenant_id"], shard_of(job_id), due_at, due_at))
        return job_ids

    def run(self, job_id: UUID, at: datetime = T0, **columns: Any) -> LaneMessage:
        """A queued run of a job, and the message that goes with it."""
        row = {
            "job_id": job_id,
            "scheduled_for": at,
            "run_id": run_id(job_id, at),
            "tenant_id": self.tenant_id,
            "target_id": self.target_id,
            "origin": "schedule",
            "lane": "shared",
            "state": "queued",
            "schedule_version": 1,
            "fire_at": at,
            "next_attempt_at": at,
            "wake_at": at + timedelta(seconds=30),
            "created_at": at,
            **columns,
        }
        names, marks = ", ".join(row), ", ".join(["%s"] * len(row))
        self.connection.execute(f"insert into run ({names}) values ({marks})", list(row.values()))  # noqa: S608
        return LaneMessage(
            job_id=job_id,
            scheduled_for=at,
            tenant_id=self.tenant_id,
            lane=Lane(row["lane"]),
            ready_at=row["next_attempt_at"],
        )

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """Whatever the test wants to see."""
        return self.connection.execute(statement, values or None).fetchall()  # type: ignore[arg-type]

    def runs(self) -> list[tuple[UUID, datetime, str]]:
        """(job_id, scheduled_for, state), oldest first."""
        return self.rows("select job_id, scheduled_for, state from run order by scheduled_for, job_id")


def minutes(count: float) -> timedelta:
    """Shorter in tests."""
    return timedelta(minutes=count)
