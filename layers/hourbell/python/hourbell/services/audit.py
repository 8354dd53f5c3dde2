"""Who changed what. Use cases record a change in the transaction that makes it: neither is there without the other.

``record(connection, tenant_id, "tenant", tenant_id, "quota_changed", changes={"jobs": (100, 200)}, now=now)``
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from hourbell.domain.durations import format_duration
from hourbell.domain.ids import encode, new_id
from hourbell.services.errors import NotFoundError
from hourbell.store import audit, jobs
from hourbell.store.audit import Changed, StoredAudit
from hourbell.store.connection import Connection, Database
from hourbell.store.jobs import JobValues, StoredJob
from hourbell.store.targets import StoredTarget, TargetValues

if TYPE_CHECKING:
    from hourbell.cold.record import ColdJob

Kind = Literal["job", "target", "key", "tenant"]
# Field by field, what was there before and what is there now; None: nothing.
Changes = Mapping[str, tuple[Any, Any]]

# The audit says that a payload was changed, and shows how it began; it does not keep all payloads there ever were.
VALUE_LENGTH = 200


def record(
    connection: Connection,
    tenant_id: UUID,
    kind: Kind,
    resource_id: UUID,
    action: str,
    *,
    changes: Changes | None = None,
    now: datetime,
) -> None:
    """Record a change in the transaction that makes it; the key and the request are those it was begun with."""
    changed = Changed(new_id(now), resource_id, _changes(changes or {}))
    audit.insert_audit(connection, tenant_id, kind, action, [changed], now=now)


def record_created_jobs(connection: Connection, tenant_id: UUID, job_ids: Sequence[UUID], *, now: datetime) -> None:
    """Record that these jobs were made."""
    changed = [Changed(new_id(now), job_id, "[]") for job_id in job_ids]
    audit.insert_audit(connection, tenant_id, "job", "created", changed, now=now)


def job_changes(before: StoredJob, after: JobValues) -> Changes:
    """What an edit changes of a job."""
    pairs = {name: (getattr(before, name), getattr(after, name)) for name in JobValues._fields}
    return {
        _JOB_NAMES.get(name, name): (_shown_job(name, old), _shown_job(name, new))
        for name, (old, new) in pairs.items()
        if not _same(name, old, new)
    }


def target_changes(before: StoredTarget, after: TargetValues) -> Changes:
    """What an edit changes of a target. Headers may hold credentials: only their names are kept."""
    old, new = _target_mapping(before), _target_mapping(after)
    return {name: (old.get(name), new.get(name)) for name in {**old, **new} if old.get(name) != new.get(name)}


def list_job_audit(
    database: Database,
    tenant_id: UUID,
    job_id: UUID,
    *,
    before: int | None = None,
    limit: int,
    cold_job: ColdJob | None = None,
) -> list[StoredAudit]:
    """A page of a job's changes, latest first; of a deleted one too.

    Raises:
        NotFoundError: the tenant has, and had, no such job.
    """

    def read(connection: Connection) -> list[StoredAudit]:
        found = audit.list_audit(connection, tenant_id, resource_id=job_id, before=before, limit=limit)
        if not found and cold_job is None and jobs.fetch_job(connection, tenant_id, job_id) is None:
            raise NotFoundError("job")
        return found

    return database.run(read)


def list_audit(
    database: Database, tenant_id: UUID, *, resource_id: UUID | None, before: int | None = None, limit: int
) -> list[StoredAudit]:
    """A page of a tenant's changes, latest first; ``resource_id``: of one thing."""
    return database.run(
        lambda connection: audit.list_audit(connection, tenant_id, resource_id=resource_id, before=before, limit=limit)
    )


def _changes(changes: Changes) -> str:
    shown = [{"field": name, "old": _short(old), "new": _short(new)} for name, (old, new) in changes.items()]
    return json.dumps(shown, ensure_ascii=False)


def _short(value: Any) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= VALUE_LENGTH else text[: VALUE_LENGTH - 1] + "…"


_JOB_NAMES = {"target_id": "target", "window_ms": "window", "timeout_ms": "timeout"}
_AS_JSON = frozenset({"catch_up", "retry", "tags"})


def _same(name: str, old: Any, new: Any) -> bool:
    return bool(json.loads(old) == json.loads(new) if name in _AS_JSON else old == new)


def _shown_job(name: str, value: Any) -> Any:
    if name == "target_id":
        return encode("tgt", value)
    return format_duration(timedelta(milliseconds=value)) if name.endswith("_ms") else value


def _target_mapping(target: StoredTarget | TargetValues) -> dict[str, Any]:
    config: dict[str, Any] = json.loads(target.config)
    if isinstance(config.get("headers"), dict):
        config["headers"] = sorted(config["headers"])
    limits = {name: getattr(target, name) for name in ("name", "rate_per_second", "burst", "max_concurrency")}
    return {**limits, **{f"{target.kind}.{name}": value for name, value in config.items()}}
