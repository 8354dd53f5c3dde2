"""What goes out: jobs, targets and runs as JSON text. Stored JSON is passed on as it is, not read and written anew."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from hourbell.api.strict_json import dump
from hourbell.domain.durations import format_duration
from hourbell.domain.ids import Prefix, encode
from hourbell.domain.instants import format_instant
from hourbell.domain.target_kind import TargetKind
from hourbell.targets.registry import config_members

if TYPE_CHECKING:
    from hourbell.services.operate_tenants import NewTenant
    from hourbell.services.runs import Run
    from hourbell.services.view_jobs import Job
    from hourbell.store.api_keys import StoredKey
    from hourbell.store.audit import StoredAudit
    from hourbell.store.jobs import StoredJob
    from hourbell.store.missed import StoredStretch
    from hourbell.store.runs_read import StoredAttempt
    from hourbell.store.targets import StoredTarget
    from hourbell.store.tenants import StoredTenant

_AUDITED: Mapping[str, Prefix] = {"job": "job", "target": "tgt", "key": "key", "tenant": "ten"}


class Raw(str):
    """A JSON text that is spliced in."""

    __slots__ = ()


def encode_json(value: Any) -> str:
    """Compact JSON of mappings, sequences, scalars and ``Raw`` texts."""
    if isinstance(value, str):
        return value if isinstance(value, Raw) else dump(value)
    if value is None:
        return "null"
    if isinstance(value, dict | Mapping):
        return "{" + ",".join(f"{dump(name)}:{encode_json(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(encode_json(item) for item in value) + "]"
    return dump(value)


def etag(version: int) -> str:
    """The entity tag of a version; strong, so that ``If-Match`` may use it."""
    return f'"{version}"'


def job_mapping(stored: StoredJob) -> dict[str, Any]:
    """The job in the shape that creates it: what a PATCH is merged into."""
    return {
        "name": stored.name,
        "schedule": Raw(stored.schedule),
        "target": stored.target_name if stored.target_name is not None else inline_target(stored),
        "payload": Raw(stored.payload),
        "window": _duration(stored.window_ms) if stored.window_ms else None,
        "catch_up": Raw(stored.catch_up),
        "overlap": stored.overlap,
        "retry": Raw(stored.retry),
        "timeout": _duration(stored.timeout_ms),
        "tags": Raw(stored.tags),
    }


def inline_target(stored: StoredJob) -> dict[str, Any]:
    """A destination that the job spells out itself."""
    return {stored.target_kind: config_mapping(stored.target_kind, stored.target_config)}


def config_mapping(kind: str, config: str) -> dict[str, Any]:
    """The members of a destination, in the API's order."""
    stored = json.loads(config)
    return {name: stored.get(name) for name in config_members(TargetKind(kind))}


def audit_json(entry: StoredAudit) -> str:
    """A change of one thing."""
    prefix = _AUDITED[entry.resource_kind]
    return encode_json(
        {
            "resource": encode(prefix, entry.resource_id),
            "action": entry.action,
            "changes": Raw(entry.changes),
            "key": None if entry.key_id is None else encode("key", entry.key_id),
            "request_id": entry.request_id,
            "recorded_at": format_instant(entry.recorded_at),
        }
    )


def key_json(key: StoredKey) -> str:
    """A key; its secret is known to nobody."""
    return encode_json(_key(key))


def new_key_json(key: StoredKey, secret: str | None) -> str:
    """A key with its secret; null where it can no longer be shown."""
    return encode_json({**_key(key), "secret": secret})


def quotas_mapping(tenant: StoredTenant) -> dict[str, int | None]:
    """The quotas by the API's names."""
    return {
        "max_jobs": tenant.max_jobs,
        "max_runs_per_minute": tenant.max_runs_per_minute,
        "max_requests_per_second": tenant.max_requests_per_second,
    }


def tenant_json(tenant: StoredTenant) -> str:
    """A tenant, as an operator sees it."""
    return encode_json(_tenant(tenant))


def new_tenant_json(made: NewTenant, secret: str | None) -> str:
    """A tenant with its first key; the secret is null where it can no longer be shown."""
    key = {"id": encode("key", made.key.key_id), "secret": secret}
    return encode_json({**_tenant(made.tenant), "key": key})


def _tenant(tenant: StoredTenant) -> dict[str, Any]:
    return {
        "id": encode("ten", tenant.tenant_id),
        "name": tenant.name,
        "quotas": quotas_mapping(tenant),
        "jobs": tenant.jobs,
        "version": tenant.version,
        "created_at": format_instant(tenant.created_at),
        "updated_at": format_instant(tenant.updated_at),
    }


def job_json(job: Job) -> str:
    """A job as API.md shows it."""
    stored = job.stored
    next_runs = [format_instant(instant) for instant in job.next_runs]
    return encode_json(
        {
            "id": encode("job", stored.job_id),
            "state": job.state,
            "version": stored.version,
            "tier": job.tier,
            **job_mapping(stored),
            "next_run_at": next_runs[0] if next_runs else None,
            "next_runs": next_runs,
            "note": stored.note,
            "error": stored.error,
            "created_at": format_instant(stored.created_at),
            "updated_at": format_instant(stored.updated_at),
        }
    )


def target_mapping(stored: StoredTarget) -> dict[str, Any]:
    """The target in the shape that creates it."""
    return {
        "name": stored.name,
        stored.kind: config_mapping(stored.kind, stored.config),
        "rate_per_second": stored.rate_per_second,
        "burst": stored.burst,
        "max_concurrency": stored.max_concurrency,
    }


def target_json(stored: StoredTarget) -> str:
    """A target as API.md shows it."""
    return encode_json(
        {
            "id": encode("tgt", stored.target_id),
            "state": stored.state,
            "version": stored.version,
            **target_mapping(stored),
            "created_at": format_instant(stored.created_at),
            "updated_at": format_instant(stored.updated_at),
        }
    )


def run_json(run: Run) -> str:
    """A run as API.md shows it."""
    stored = run.stored
    return encode_json(
        {
            "id": encode("run", stored.run_id),
            "job_id": encode("job", stored.job_id),
            "target_id": encode("tgt", stored.target_id),
            "origin": stored.origin,
            "scheduled_for": format_instant(stored.scheduled_for),
            "fire_at": format_instant(stored.fire_at),
            "state": stored.state,
            "reason": stored.reason,
            "attempt": stored.attempt,
            "lateness_ms": run.lateness_ms,
            "progress": None if stored.progress is None else Raw(stored.progress),
            "result": None if stored.result is None else Raw(stored.result),
            "error": stored.error,
            "started_at": _instant(stored.started_at),
            "finished_at": _instant(stored.finished_at),
            "created_at": format_instant(stored.created_at),
            "attempts": [_attempt(attempt) for attempt in run.attempts],
        }
    )


def stretch_json(stretch: StoredStretch) -> str:
    """Occurrences that were not run."""
    return encode_json(
        {
            "first_scheduled_for": format_instant(stretch.first_scheduled_for),
            "last_scheduled_for": format_instant(stretch.last_scheduled_for),
            "occurrences": stretch.occurrences,
            "reason": stretch.reason,
            "recorded_at": format_instant(stretch.recorded_at),
        }
    )


def preview_json(found: Sequence[Mapping[str, Any]], description: str | None) -> str:
    """A preview."""
    return encode_json({"description": description, "occurrences": list(found)})


def _key(key: StoredKey) -> dict[str, Any]:
    return {
        "id": encode("key", key.key_id),
        "name": key.name,
        "scopes": key.scopes,
        "created_at": format_instant(key.created_at),
        "expires_at": _instant(key.expires_at),
        "revoked_at": _instant(key.revoked_at),
        "last_used_at": _instant(key.last_used_at),
        "previous_secret_expires_at": _instant(key.previous_expires_at),
    }


def _attempt(attempt: StoredAttempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "started_at": format_instant(attempt.started_at),
        "finished_at": _instant(attempt.finished_at),
        "outcome": attempt.outcome,
        "status_code": attempt.status_code,
        "error": attempt.error,
        "duration_ms": attempt.duration_ms,
    }


def _instant(instant: datetime | None) -> str | None:
    return None if instant is None else format_instant(instant)


def _duration(milliseconds: int) -> str:
    return format_duration(timedelta(milliseconds=milliseconds))
