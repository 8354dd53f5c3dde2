"""A typed client of the HTTP API, synchronous and asynchronous.

    with Client("https://…", "hb_live_…") as hourbell:
        job = hourbell.create_job({"schedule": {"cron": "0 2 * * *", "timezone": "UTC"}, "target": "billing"})

    async with AsyncClient("https://…", "hb_live_…") as hourbell:
        async for run in hourbell.iter_runs(state="dead"):
            print(run["id"])

Both have the same methods, those of ``operations``. Replies are the API's JSON, typed. Calls that may be repeated are,
when no answer comes or the API asks for patience; creating calls carry an ``Idempotency-Key`` for it.
"""

from hourbell.client.clients import AsyncClient, Client
from hourbell.client.errors import ApiError, ClientError, UnreachableError
from hourbell.client.replies import (
    Attempt,
    Backfill,
    BackfilledOccurrence,
    Change,
    Declaration,
    Deployment,
    Health,
    Job,
    JobBatch,
    JobCreated,
    JobPage,
    JobRefused,
    JsonObject,
    Key,
    Lease,
    LeasedRun,
    LeasedRuns,
    Missed,
    NewKey,
    NewTenant,
    Occurrence,
    Page,
    Preview,
    Redrive,
    Run,
    RunPage,
    SentCall,
    SigningSecret,
    Stats,
    Target,
    TargetTest,
    Tenant,
)
from hourbell.client.requests import Request
from hourbell.client.retries import Retries

__all__ = [
    "ApiError",
    "AsyncClient",
    "Attempt",
    "Backfill",
    "BackfilledOccurrence",
    "Change",
    "Client",
    "ClientError",
    "Declaration",
    "Deployment",
    "Health",
    "Job",
    "JobBatch",
    "JobCreated",
    "JobPage",
    "JobRefused",
    "JsonObject",
    "Key",
    "Lease",
    "LeasedRun",
    "LeasedRuns",
    "Missed",
    "NewKey",
    "NewTenant",
    "Occurrence",
    "Page",
    "Preview",
    "Redrive",
    "Request",
    "Retries",
    "Run",
    "RunPage",
    "SentCall",
    "SigningSecret",
    "Stats",
    "Target",
    "TargetTest",
    "Tenant",
    "UnreachableError",
]
