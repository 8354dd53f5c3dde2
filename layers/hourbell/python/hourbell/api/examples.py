"""The examples of the OpenAPI document: what is sent, what comes back, and each problem as the code words it.

Tests hold every one of them against the models, the schemas and the operations.
"""

from __future__ import annotations

from typing import Any

from hourbell.api.problems import (
    COLD_UNAVAILABLE,
    COLD_UNREADABLE,
    DATABASE_UNAVAILABLE,
    AuthenticationError,
    KeyReusedError,
    Problem,
    RequestUnderWayError,
    ScopeError,
    TooLargeError,
    not_found,
    problem_of,
)
from hourbell.domain.errors import FieldError
from hourbell.services.errors import LeaseLostError, OldSecretError, QuotaError, StateError, VersionError
from hourbell.store.constraints import ConflictError

_JOB_ID = "job_01hzy3v7q4e8s9m2k6x0w5t1ab"
_RUN_ID = "run_01hzy3v7q4e8s9m2k6x0w5t1ab"
_TARGET_ID = "tgt_01hzy3v7q4e8s9m2k6x0w5t1ab"
_KEY_ID = "key_01hzy3v7q4e8s9m2k6x0w5t1ab"
_TENANT_ID = "ten_01hzy3v7q4e8s9m2k6x0w5t1ab"
_TOKEN = "7f0c2a54-9d1e-4c53-8a0b-6f2d9e41c7b3"  # noqa: S105 - of nobody
_CREATED = "2027-03-01T09:00:00.000Z"
_SCHEDULED = "2027-03-14T20:30:00.000Z"
_STARTED = "2027-03-14T20:30:00.012Z"
_FINISHED = "2027-03-14T20:30:01.480Z"
_LEASE_END = "2027-03-14T20:31:00.012Z"
_NEXT = [f"2027-03-{day}T20:30:00.000Z" for day in (15, 16, 17, 18, 19)]
_QUOTAS = {"max_jobs": 500, "max_runs_per_minute": 100_000, "max_requests_per_second": 100}

_JOB_IN = {
    "name": "nightly-settlement",
    "schedule": {"cron": "0 2 * * *", "timezone": "Asia/Kolkata"},
    "target": "billing",
    "payload": {"ledger": 7},
    "tags": {"team": "payments"},
}

BODIES: dict[str, dict[str, Any]] = {
    "JobIn": _JOB_IN,
    "JobBatchIn": {"jobs": [_JOB_IN, {"schedule": {"every": "PT5M"}, "target": "billing"}]},
    "PauseIn": {"note": "until the ledger is migrated"},
    "ResumeIn": {"missed": "catch_up"},
    "EmptyIn": {},
    "TriggerIn": {"payload": {"ledger": 8}},
    "BackfillIn": {"from": "2027-02-01T00:00:00.000Z", "to": "2027-02-08T00:00:00.000Z", "dry_run": True},
    "PreviewIn": {
        "schedule": {"cron": "30 2 * * *", "timezone": "Europe/Paris"},
        "after": "2027-03-27T00:00:00.000Z",
        "count": 2,
    },
    "TargetIn": {
        "name": "billing",
        "http": {"url": "https://billing.example.com/hook"},
        "rate_per_second": 50,
        "burst": 100,
        "max_concurrency": 20,
    },
    "TargetTestIn": {"payload": {"ledger": 0}},
    "LeaseIn": {"target": "reports", "wait": "PT20S", "max": 10},
    "HeartbeatIn": {"lease_token": _TOKEN, "progress": {"page": 12}},
    "CompleteIn": {"lease_token": _TOKEN, "result": {"settled": 1842}},
    "FailIn": {"lease_token": _TOKEN, "error": "the ledger is locked", "retryable": True},
    "RedriveIn": {"filter": {"state": "dead", "target": "billing"}, "dry_run": True},
    "KeyIn": {"name": "ci", "scopes": ["jobs:read", "jobs:write"], "expires_at": "2028-01-01T00:00:00.000Z"},
    "RotateIn": {"grace": "P1D"},
    "TenantIn": {"name": "acme", "quotas": {"max_jobs": 500}},
}

PATCHES: dict[str, dict[str, Any]] = {
    "JobIn": {"schedule": {"cron": None, "timezone": None, "every": "PT5M"}, "tags": {"team": "ledger"}},
    "TargetIn": {"rate_per_second": 20, "burst": None},
    "TenantPatchIn": {"quotas": {"max_jobs": 500, "max_runs_per_minute": None}},
}

_JOB = {
    "id": _JOB_ID,
    "state": "active",
    "version": 1,
    "tier": "hot",
    "name": "nightly-settlement",
    "schedule": {
        "cron": "0 2 * * *",
        "timezone": "Asia/Kolkata",
        "gap": "run",
        "repeat": "once",
        "start_at": None,
        "end_at": None,
        "max_runs": None,
        "exclude": [],
    },
    "target": "billing",
    "payload": {"ledger": 7},
    "window": None,
    "catch_up": {"policy": "run_once", "within": None},
    "overlap": "allow",
    "retry": {"max_attempts": 5, "backoff": "exponential", "initial": "PT10S", "maximum": "PT1H", "max_age": "P1D"},
    "timeout": "PT30S",
    "tags": {"team": "payments"},
    "next_run_at": _SCHEDULED,
    "next_runs": [_SCHEDULED, *_NEXT[:4]],
    "note": None,
    "error": None,
    "created_at": _CREATED,
    "updated_at": _CREATED,
}
_RUN = {
    "id": _RUN_ID,
    "job_id": _JOB_ID,
    "target_id": _TARGET_ID,
    "origin": "schedule",
    "scheduled_for": _SCHEDULED,
    "fire_at": _SCHEDULED,
    "state": "succeeded",
    "reason": None,
    "attempt": 1,
    "lateness_ms": 12,
    "progress": None,
    "result": {"settled": 1842},
    "error": None,
    "started_at": _STARTED,
    "finished_at": _FINISHED,
    "created_at": "2027-03-14T20:28:04.371Z",
    "attempts": [
        {
            "number": 1,
            "started_at": _STARTED,
            "finished_at": _FINISHED,
            "outcome": "succeeded",
            "status_code": 200,
            "error": None,
            "duration_ms": 1_468,
        }
    ],
}
_KEY = {
    "id": _KEY_ID,
    "name": "ci",
    "scopes": ["jobs:read", "jobs:write"],
    "created_at": _CREATED,
    "expires_at": "2028-01-01T00:00:00.000Z",
    "revoked_at": None,
    "last_used_at": None,
    "previous_secret_expires_at": None,
}
_TENANT = {
    "id": _TENANT_ID,
    "name": "acme",
    "quotas": _QUOTAS,
    "jobs": 0,
    "version": 1,
    "created_at": _CREATED,
    "updated_at": _CREATED,
}
_CHANGE = {
    "resource": _JOB_ID,
    "action": "edited",
    "changes": [{"field": "timeout", "old": '"PT30S"', "new": '"PT1M"'}],
    "key": _KEY_ID,
    "request_id": "YkT3vh2ZjoEEMzA=",
    "recorded_at": _CREATED,
}

REPLIES: dict[str, Any] = {
    "Job": _JOB,
    "JobBatch": {"items": [_JOB]},
    "Declaration": {"action": "update", "changes": ["schedule", "payload"]},
    "Target": {
        "id": _TARGET_ID,
        "state": "active",
        "version": 1,
        "name": "billing",
        "http": {"url": "https://billing.example.com/hook", "method": "POST", "headers": {}, "secret": None},
        "rate_per_second": 50.0,
        "burst": 100,
        "max_concurrency": 20,
        "created_at": _CREATED,
        "updated_at": _CREATED,
    },
    "TargetTest": {
        "id": _RUN_ID,
        "state": "finished",
        "outcome": "succeeded",
        "status_code": 200,
        "duration_ms": 84,
        "error": None,
        "sent": {
            "method": "POST",
            "to": "https://billing.example.com/hook",
            "headers": {"Content-Type": "application/json", "Idempotency-Key": _RUN_ID},
            "body": '{"ledger":0}',
        },
    },
    "Change": _CHANGE,
    "Tenant": _TENANT,
    "NewTenant": {**_TENANT, "key": {"id": _KEY_ID, "secret": "hb_live_…"}},
    "Key": _KEY,
    "NewKey": {**_KEY, "secret": "hb_live_…"},
    "SigningSecret": {"signing_secret": "whsec_…", "secret": None},
    "Run": _RUN,
    "Missed": {
        "first_scheduled_for": "2027-03-02T20:30:00.000Z",
        "last_scheduled_for": "2027-03-04T20:30:00.000Z",
        "occurrences": 3,
        "reason": "paused",
        "recorded_at": "2027-03-05T09:00:00.000Z",
    },
    "Preview": {
        "description": "At 02:30 AM",
        "occurrences": [
            {"scheduled_for": "2027-03-27T01:30:00.000Z", "local": "2027-03-27T02:30:00+01:00", "note": None},
            {
                "scheduled_for": "2027-03-28T01:00:00.000Z",
                "local": "2027-03-28T03:00:00+02:00",
                "note": "shifted by the clock change",
            },
        ],
    },
    "Backfill": {
        "dry_run": True,
        "runs": 1,
        "existing": 0,
        "occurrences": [{"scheduled_for": "2027-02-01T20:30:00.000Z", "run_id": _RUN_ID, "existing": None}],
    },
    "Lease": {"lease_expires_at": _LEASE_END},
    "LeasedRuns": {
        "runs": [
            {
                "run_id": _RUN_ID,
                "job_id": _JOB_ID,
                "scheduled_for": _SCHEDULED,
                "fire_at": _SCHEDULED,
                "attempt": 1,
                "lease_token": _TOKEN,
                "lease_expires_at": _LEASE_END,
                "payload": {"ledger": 7},
                "progress": None,
            }
        ]
    },
    "Redrive": {"dry_run": True, "runs": 17, "more": False},
    "Stats": {
        "at": _SCHEDULED,
        "jobs": {"active": 120, "paused": 3, "completed": 48, "capped": False},
        "oldest_due_age_ms": None,
        "runs": {
            "since": "2027-03-14T19:30:00.000Z",
            "queued": 2,
            "running": 1,
            "retrying": 0,
            "succeeded": 940,
            "dead": 1,
            "cancelled": 0,
            "skipped": 0,
            "capped": False,
        },
        "lateness_ms": {"p50": 14, "p95": 60, "p99": 210},
        "queues": {"shared": 0, "solo": 0, "pull": 0},
        "cold": {"hours": [{"hour": "2027-04-01T00:00:00.000Z", "jobs": 12_000}], "capped": False},
    },
    "Deployment": {
        "at": _SCHEDULED,
        "database_at": _SCHEDULED,
        "schema": {"applied": 31, "expected": 31},
        "partitions_through": "2027-03-28",
        "scanners": [{"first_shard": 0, "last_shard": 127, "renewed_at": _SCHEDULED}],
    },
    "Health": {"status": "ok"},
}

PROBLEMS: dict[int, dict[str, Problem]] = {
    400: {"bad-input": problem_of(FieldError("schedule.cron", "minute 61 is outside 0-59"))},
    401: {"unauthorized": problem_of(AuthenticationError("no valid key"))},
    403: {"scope": problem_of(ScopeError("jobs:write")), "old-secret": problem_of(OldSecretError())},
    404: {"not-found": not_found("job")},
    409: {
        "conflict": problem_of(ConflictError("name", "another job has this name")),
        "state": problem_of(StateError("the job is completed")),
        "quota": problem_of(
            QuotaError("max_jobs", "the tenant may have 500 active and paused jobs, and would have 501")
        ),
        "lease-lost": problem_of(LeaseLostError("the lease token does not stand")),
        "request-under-way": problem_of(
            RequestUnderWayError("a request with this Idempotency-Key is being carried out")
        ),
    },
    412: {"version": problem_of(VersionError("is at version 3"))},
    413: {"too-large": problem_of(TooLargeError("the body has more than 1048576 bytes"))},
    422: {"idempotency-key-reused": problem_of(KeyReusedError("this Idempotency-Key was used for another request"))},
    429: {
        "quota": problem_of(
            QuotaError("max_requests_per_second", "the tenant may make 100 requests a second", retry_after_seconds=1)
        )
    },
    503: {
        "database-unavailable": DATABASE_UNAVAILABLE,
        "cold-tier-unavailable": COLD_UNAVAILABLE,
        "cold-unreadable": COLD_UNREADABLE,
    },
}
