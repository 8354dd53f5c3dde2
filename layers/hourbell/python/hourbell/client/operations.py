"""Every operation of the API, described once: the methods of ``Client`` and of ``AsyncClient``.

To add one, describe its call; ``operation`` makes the method of both. Paths and fields are those of
``docs/openapi.json``; a test asks for a method for each operation there, and for each of its query parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from hourbell.client.operation import all_of, operation
from hourbell.client.replies import (
    Backfill,
    Change,
    Declaration,
    Deployment,
    Health,
    Job,
    JobBatch,
    JsonObject,
    Key,
    Lease,
    LeasedRuns,
    Missed,
    NewKey,
    NewTenant,
    Page,
    Preview,
    Redrive,
    Run,
    SigningSecret,
    Stats,
    Target,
    TargetTest,
    Tenant,
)
from hourbell.client.requests import Instant, Method, Request, nothing, present

if TYPE_CHECKING:
    import httpx


class Operations:
    """What both clients can do."""

    # Jobs

    @operation
    def create_job(self, definition: JsonObject) -> Request[Job]:
        """Create a job from the body that the API documents.

        >>> job = hourbell.create_job({"schedule": {"cron": "0 2 * * *", "timezone": "UTC"}, "target": "billing"})
        >>> job["state"], job["schedule"]["cron"]
        ('active', '0 2 * * *')
        """
        return Request(method="POST", path="/v1/jobs", body=dict(definition))

    @operation
    def create_jobs(self, definitions: Sequence[JsonObject], *, atomic: bool = True) -> Request[JobBatch]:
        """Create up to 1,000 jobs: all or none, or each for itself with a result of its own.

        >>> daily = {"schedule": {"cron": "0 2 * * *", "timezone": "UTC"}, "target": "billing"}
        >>> len(hourbell.create_jobs([daily, daily])["items"])
        2
        >>> [each["status"] for each in hourbell.create_jobs([daily, {**daily, "target": "?"}], atomic=False)["items"]]
        [201, 400]
        """
        body = {"jobs": [dict(each) for each in definitions], "atomic": atomic}
        return Request(method="POST", path="/v1/jobs/batch", body=body)

    @operation
    def list_jobs(
        self,
        *,
        state: str | None = None,
        tag: str | Sequence[str] | None = None,
        name: str | None = None,
        name_prefix: str | None = None,
        q: str | None = None,
        target: str | None = None,
        tier: Literal["hot", "cold"] | None = None,
        due_before: Instant | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Request[Page[Job]]:
        """A page of jobs. ``tag``: ``team:payments``; several must all be there. ``q``: words of names and tags.

        ``tier="cold"`` lists far-future one-offs by the hour in which they are due, with ``due_before`` up to an
        instant; such a page may be empty and go on.

        >>> page = hourbell.list_jobs(tag="team:payments", limit=10)
        >>> page["items"], page["next_cursor"]
        ([], None)
        """
        query = {
            "state": state,
            "tag": tag,
            "name": name,
            "name_prefix": name_prefix,
            "q": q,
            "target": target,
            "tier": tier,
            "due_before": due_before,
            "limit": limit,
            "cursor": cursor,
        }
        return Request(method="GET", path="/v1/jobs", query=query)

    iter_jobs = all_of(
        list_jobs,
        """Every job that matches, page after page; arguments as ``list_jobs``.

        >>> sorted(job["name"] for job in hourbell.iter_jobs(state="active"))
        ['hourly', 'nightly']
        """,
    )

    @operation
    def get_job(self, job_id: str) -> Request[Job]:
        """One job.

        >>> hourbell.get_job(nightly["id"])["name"]
        'nightly'
        """
        return Request(method="GET", path="/v1/jobs/{id}", variables={"id": job_id})

    @operation
    def update_job(self, job_id: str, changes: JsonObject, *, if_version: int | None = None) -> Request[Job]:
        """Merge changes into a job (RFC 7396): what they do not name stays, what they name as None goes.

        With ``if_version``, only if nobody has edited it since; ``ApiError`` with status 412 otherwise.

        >>> job = hourbell.update_job(nightly["id"], {"tags": {"team": "payments"}}, if_version=nightly["version"])
        >>> job["tags"], job["schedule"] == nightly["schedule"]
        ({'team': 'payments'}, True)
        """
        return Request(
            method="PATCH",
            path="/v1/jobs/{id}",
            variables={"id": job_id},
            body=dict(changes),
            if_version=if_version,
        )

    @operation
    def declare_job(self, name: str, definition: JsonObject, *, if_version: int | None = None) -> Request[Job]:
        """Have the job of this name be what the body says: create it, bring it up to date, or leave it alone.

        What the body does not name has its default; only a pause stays as it is.

        >>> body = {"schedule": {"cron": "0 3 * * *", "timezone": "UTC"}, "target": "billing"}
        >>> hourbell.declare_job("weekly", body)["version"], hourbell.declare_job("weekly", body)["version"]
        (1, 1)
        """
        return _declaration(name, definition, if_version=if_version)

    @operation
    def plan_job(self, name: str, definition: JsonObject) -> Request[Declaration]:
        """What ``declare_job`` would do.

        >>> body = {"schedule": {"cron": "0 2 * * *", "timezone": "UTC"}, "target": "billing", "window": "5m"}
        >>> hourbell.plan_job("nightly", body)
        {'action': 'update', 'changes': ['window']}
        """
        return _declaration(name, definition, dry_run=True)

    @operation
    def delete_job(self, job_id: str, *, if_version: int | None = None) -> Request[None]:
        """Delete a job; its run records stay.

        >>> hourbell.delete_job(nightly["id"])
        """
        variables = {"id": job_id}
        return Request(method="DELETE", path="/v1/jobs/{id}", variables=variables, if_version=if_version, read=nothing)

    @operation
    def pause_job(self, job_id: str, *, note: str | None = None, if_version: int | None = None) -> Request[Job]:
        """Silence a job at once; ``note``: why.

        >>> hourbell.pause_job(nightly["id"], note="the ledger moves")["state"]
        'paused'
        """
        return _action("/v1/jobs/{id}/pause", job_id, body=present(note=note), if_version=if_version)

    @operation
    def resume_job(self, job_id: str, *, missed: str = "skip", if_version: int | None = None) -> Request[Job]:
        """Let a paused job go on; ``missed`` is ``skip`` or ``catch_up``.

        >>> job = hourbell.pause_job(nightly["id"])
        >>> hourbell.resume_job(nightly["id"], missed="catch_up")["state"]
        'active'
        """
        return _action("/v1/jobs/{id}/resume", job_id, body={"missed": missed}, if_version=if_version)

    @operation
    def skip_next(self, job_id: str, *, if_version: int | None = None) -> Request[Job]:
        """Take out the job's next occurrence.

        >>> hourbell.skip_next(nightly["id"])["next_runs"][0] == nightly["next_runs"][1]
        True
        """
        return _action("/v1/jobs/{id}/skip-next", job_id, body={}, if_version=if_version)

    @operation
    def trigger_job(self, job_id: str, body: JsonObject | None = None) -> Request[Run]:
        """Run a job now, besides its schedule, with ``{"payload": …}`` of its own if given.

        >>> run = hourbell.trigger_job(nightly["id"], {"payload": {"ledger": 8}})
        >>> run["state"], run["origin"]
        ('queued', 'trigger')
        """
        return _action("/v1/jobs/{id}/trigger", job_id, body=dict(body or {}))

    @operation
    def backfill_job(self, job_id: str, *, from_: Instant, to: Instant, dry_run: bool = False) -> Request[Backfill]:
        """Run the occurrences at ``from_`` or later and before ``to`` that have no run; ``dry_run``: only tell which.

        >>> past = {"from_": "2027-05-07T00:00:00Z", "to": "2027-05-09T00:00:00Z"}
        >>> hourbell.backfill_job(nightly["id"], **past, dry_run=True)["runs"]
        2
        """
        body = {**present(to=to, **{"from": from_}), "dry_run": dry_run}
        return _action("/v1/jobs/{id}/backfill", job_id, body=body)

    @operation
    def upcoming(self, job_id: str, *, count: int = 10) -> Request[Preview]:
        """The next occurrences of a job.

        >>> [each["local"] for each in hourbell.upcoming(nightly["id"], count=2)["occurrences"]]
        ['2027-05-10T02:00:00.000+00:00', '2027-05-11T02:00:00.000+00:00']
        """
        return Request(method="GET", path="/v1/jobs/{id}/upcoming", variables={"id": job_id}, query={"count": count})

    @operation
    def job_runs(
        self, job_id: str, *, state: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Request[Page[Run]]:
        """A page of one job's runs, newest first.

        >>> hourbell.job_runs(nightly["id"], state="dead")["items"]
        []
        """
        query = {"state": state, "limit": limit, "cursor": cursor}
        return Request(method="GET", path="/v1/jobs/{id}/runs", variables={"id": job_id}, query=query)

    iter_job_runs = all_of(job_runs, "Every run of a job, newest first; arguments as ``job_runs``.")

    @operation
    def list_missed(self, job_id: str, *, limit: int = 50, cursor: str | None = None) -> Request[Page[Missed]]:
        """A page of the stretches of occurrences that a job missed, latest first.

        >>> hourbell.list_missed(nightly["id"])["items"]
        []
        """
        query = {"limit": limit, "cursor": cursor}
        return Request(method="GET", path="/v1/jobs/{id}/missed", variables={"id": job_id}, query=query)

    iter_missed = all_of(list_missed, "Every stretch that a job missed, latest first; arguments as ``list_missed``.")

    @operation
    def job_audit(self, job_id: str, *, limit: int = 50, cursor: str | None = None) -> Request[Page[Change]]:
        """A page of who changed a job, latest first.

        >>> job = hourbell.update_job(nightly["id"], {"tags": {"team": "payments"}})
        >>> sorted(change["action"] for change in hourbell.job_audit(nightly["id"])["items"])
        ['created', 'edited']
        """
        query = {"limit": limit, "cursor": cursor}
        return Request(method="GET", path="/v1/jobs/{id}/audit", variables={"id": job_id}, query=query)

    iter_job_audit = all_of(job_audit, "Every change of a job, latest first; arguments as ``job_audit``.")

    @operation
    def preview_schedule(
        self, schedule: JsonObject, *, after: Instant | None = None, count: int = 10
    ) -> Request[Preview]:
        """When a schedule would ring, before there is a job; ``after``: now by default.

        >>> daily = {"cron": "30 2 * * *", "timezone": "Europe/Berlin"}
        >>> hourbell.preview_schedule(daily, after="2027-03-27T12:00:00Z", count=1)["occurrences"][0]["note"]
        'shifted by the clock change from 02:30'
        """
        body = {"schedule": dict(schedule), "count": count, **present(after=after)}
        return Request(method="POST", path="/v1/schedules/preview", body=body)

    # Runs

    @operation
    def list_runs(
        self,
        *,
        state: str | None = None,
        job: str | None = None,
        target: str | None = None,
        from_: Instant | None = None,
        to: Instant | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Request[Page[Run]]:
        """A page of runs, newest first: those scheduled at ``from_`` or later, and before ``to``.

        >>> hourbell.list_runs(state="dead", target="billing", from_="2027-05-01T00:00:00Z")["items"]
        []
        """
        query = {
            "state": state,
            "job": job,
            "target": target,
            "from": from_,
            "to": to,
            "limit": limit,
            "cursor": cursor,
        }
        return Request(method="GET", path="/v1/runs", query=query)

    iter_runs = all_of(
        list_runs,
        """Every run that matches, newest first; arguments as ``list_runs``.

        >>> run = hourbell.trigger_job(nightly["id"])
        >>> [each["id"] == run["id"] for each in hourbell.iter_runs(job=nightly["id"])]
        [True]
        """,
    )

    @operation
    def get_run(self, run_id: str) -> Request[Run]:
        """One run with its attempts.

        >>> hourbell.get_run(run["id"])["attempts"]
        []
        """
        return Request(method="GET", path="/v1/runs/{id}", variables={"id": run_id})

    @operation
    def retry_run(self, run_id: str) -> Request[Run]:
        """Start an ended run over, under its own id and with a full set of attempts.

        >>> run = hourbell.cancel_run(run["id"])
        >>> hourbell.retry_run(run["id"])["state"]
        'queued'
        """
        return _action("/v1/runs/{id}/retry", run_id)

    @operation
    def cancel_run(self, run_id: str) -> Request[Run]:
        """Cancel a run that has not ended.

        >>> hourbell.cancel_run(run["id"])["state"]
        'cancelled'
        """
        return _action("/v1/runs/{id}/cancel", run_id)

    @operation
    def redrive_runs(
        self,
        *,
        state: Literal["dead", "cancelled", "skipped"] = "dead",
        job: str | None = None,
        target: str | None = None,
        from_: Instant | None = None,
        to: Instant | None = None,
        dry_run: bool = False,
    ) -> Request[Redrive]:
        """Start over every ended run that matches, oldest first, up to 10,000 a call; ``dry_run``: only count.

        >>> hourbell.redrive_runs(target="billing", dry_run=True)["runs"]
        0
        """
        matching = present(state=state, job=job, target=target, to=to, **{"from": from_})
        return Request(
            method="POST",
            path="/v1/runs/redrive",
            body={"filter": matching, "dry_run": dry_run},
        )

    # Whoever executes a run

    @operation
    def lease_runs(self, target: str, *, wait: str = "PT20S", limit: int = 1) -> Request[LeasedRuns]:
        """Fetch runs of a target of kind ``pull``, oldest first; waits up to ``wait`` (20 s at most) for the first.

        >>> reports = hourbell.create_target("reports", pull={})
        >>> hourbell.lease_runs("reports", wait="PT0S")["runs"]
        []
        """
        body = {"target": target, "wait": wait, "max": limit}
        return Request(method="POST", path="/v1/runs/lease", body=body)

    @operation
    def heartbeat_run(self, run_id: str, lease_token: str, *, progress: object = None) -> Request[Lease]:
        """Keep the lease of a run that is being executed, and report progress, which a retry hands to the target.

        ``ApiError`` of kind ``lease-lost``: another attempt has it now, stop.
        """
        return _action("/v1/runs/{id}/heartbeat", run_id, body=present(lease_token=lease_token, progress=progress))

    @operation
    def complete_run(self, run_id: str, lease_token: str, *, result: object = None) -> Request[Run]:
        """End a run as succeeded; ``result`` is kept with it."""
        body = present(lease_token=lease_token, result=result)
        return _action("/v1/runs/{id}/complete", run_id, body=body)

    @operation
    def fail_run(
        self, run_id: str, lease_token: str, *, error: str | None = None, retryable: bool = True
    ) -> Request[Run]:
        """End an attempt as failed; the job's retry policy decides what follows, unless it is not ``retryable``."""
        body = {"lease_token": lease_token, "retryable": retryable, **present(error=error)}
        return _action("/v1/runs/{id}/fail", run_id, body=body)

    # Targets

    @operation
    def create_target(self, /, name: str, http: JsonObject | None = None, **members: Any) -> Request[Target]:
        """Name a destination: ``http``, or the member of another kind (``sqs={"queue_url": …}``); and its limits.

        >>> target = hourbell.create_target("invoices", {"url": "https://example.com/invoices"}, rate_per_second=50)
        >>> target["name"], target["rate_per_second"]
        ('invoices', 50.0)
        """
        kind = {} if http is None else {"http": dict(http)}
        return Request(method="POST", path="/v1/targets", body={"name": name, **kind, **members})

    @operation
    def list_targets(
        self, *, name: str | None = None, state: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Request[Page[Target]]:
        """A page of named targets, newest first.

        >>> [target["name"] for target in hourbell.list_targets()["items"]]
        ['billing']
        """
        query = {"name": name, "state": state, "limit": limit, "cursor": cursor}
        return Request(method="GET", path="/v1/targets", query=query)

    iter_targets = all_of(list_targets, "Every named target that matches, newest first; arguments as ``list_targets``.")

    @operation
    def get_target(self, target_id: str) -> Request[Target]:
        """One target.

        >>> hourbell.get_target(billing["id"])["state"]
        'active'
        """
        return Request(method="GET", path="/v1/targets/{id}", variables={"id": target_id})

    @operation
    def update_target(self, target_id: str, changes: JsonObject, *, if_version: int | None = None) -> Request[Target]:
        """Merge changes into a target (RFC 7396).

        >>> hourbell.update_target(billing["id"], {"max_concurrency": 20})["max_concurrency"]
        20
        """
        return Request(
            method="PATCH",
            path="/v1/targets/{id}",
            variables={"id": target_id},
            body=dict(changes),
            if_version=if_version,
        )

    @operation
    def delete_target(self, target_id: str, *, if_version: int | None = None) -> Request[None]:
        """Forget a target that no job uses."""
        variables = {"id": target_id}
        return Request(
            method="DELETE", path="/v1/targets/{id}", variables=variables, if_version=if_version, read=nothing
        )

    @operation
    def pause_target(self, target_id: str, *, if_version: int | None = None) -> Request[Target]:
        """Hold back the runs of all its jobs; they wait without using up attempts.

        >>> hourbell.pause_target(billing["id"])["state"]
        'paused'
        """
        return _action("/v1/targets/{id}/pause", target_id, body={}, if_version=if_version)

    @operation
    def resume_target(self, target_id: str, *, if_version: int | None = None) -> Request[Target]:
        """Let the runs that waited go.

        >>> hourbell.resume_target(billing["id"])["state"]
        'active'
        """
        return _action("/v1/targets/{id}/resume", target_id, body={}, if_version=if_version)

    @operation
    def signing_secret(self, target_id: str) -> Request[SigningSecret]:
        """The key that the target's calls are signed with, for ``hourbell.receiver``.

        >>> hourbell.signing_secret(billing["id"])["signing_secret"][:6]
        'whsec_'
        """
        return Request(method="GET", path="/v1/targets/{id}/signing-secret", variables={"id": target_id})

    @operation
    def test_target(self, target_id: str, body: JsonObject | None = None) -> Request[TargetTest]:
        """Have a worker call a target once, outside any job, with ``{"payload": …}`` or else ``{"test": true}``.

        Waits for the result up to 15 s; then the answer's ``state`` is ``pending``.
        """
        return _action("/v1/targets/{id}/test", target_id, body=dict(body or {}))

    # Tenants, for operators

    @operation
    def create_tenant(self, name: str, *, quotas: JsonObject | None = None) -> Request[NewTenant]:
        """Make a tenant with its first key, whose secret is in this reply and nowhere else.

        ``quotas``: ``max_jobs``, ``max_runs_per_minute``, ``max_requests_per_second``; None is no limit, and what is
        not named has a default. Needs the scope ``operator``, as all that follows.
        """
        return Request(method="POST", path="/v1/tenants", body={"name": name, **present(quotas=quotas)})

    @operation
    def list_tenants(
        self, *, name: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Request[Page[Tenant]]:
        """A page of tenants, newest first."""
        return Request(method="GET", path="/v1/tenants", query={"name": name, "limit": limit, "cursor": cursor})

    iter_tenants = all_of(list_tenants, "Every tenant, newest first; arguments as ``list_tenants``.")

    @operation
    def get_tenant(self, tenant_id: str) -> Request[Tenant]:
        """One tenant with its quotas and the number of its jobs."""
        return Request(method="GET", path="/v1/tenants/{id}", variables={"id": tenant_id})

    @operation
    def set_quotas(self, tenant_id: str, quotas: JsonObject, *, if_version: int | None = None) -> Request[Tenant]:
        """Set the quotas that are named; None takes a limit away."""
        return Request(
            method="PATCH",
            path="/v1/tenants/{id}",
            variables={"id": tenant_id},
            body={"quotas": dict(quotas)},
            if_version=if_version,
        )

    # Keys

    @operation
    def create_key(self, name: str, scopes: Sequence[str], *, expires_at: Instant | None = None) -> Request[NewKey]:
        """Make a key that may do some of what this one may; the secret is in this reply and nowhere else.

        >>> key = hourbell.create_key("dashboard", ["jobs:read"])
        >>> key["secret"][:8], key["scopes"]
        ('hb_live_', ['jobs:read'])
        """
        body = {"name": name, "scopes": list(scopes), **present(expires_at=expires_at)}
        return Request(method="POST", path="/v1/keys", body=body)

    @operation
    def list_keys(self, *, limit: int = 50, cursor: str | None = None) -> Request[Page[Key]]:
        """A page of keys, newest first, revoked ones too.

        >>> hourbell.list_keys(limit=1)["items"][0]["revoked_at"]
        """
        return Request(method="GET", path="/v1/keys", query={"limit": limit, "cursor": cursor})

    iter_keys = all_of(list_keys, "Every key, newest first; arguments as ``list_keys``.")

    @operation
    def get_key(self, key_id: str) -> Request[Key]:
        """One key, without its secret."""
        return Request(method="GET", path="/v1/keys/{id}", variables={"id": key_id})

    @operation
    def rotate_key(self, key_id: str, *, grace: str = "P1D", force: bool = False) -> Request[NewKey]:
        """Give a key a new secret; the old one opens for ``grace`` longer.

        ``force``: end one still older that opens yet.

        >>> hourbell.rotate_key(hourbell.create_key("ci", ["jobs:write"])["id"], grace="1h")["secret"][:8]
        'hb_live_'
        """
        return _action("/v1/keys/{id}/rotate", key_id, body=present(grace=grace, force=force or None))

    @operation
    def revoke_key(self, key_id: str) -> Request[None]:
        """Close a key for good, within a minute.

        >>> hourbell.revoke_key(hourbell.create_key("ci", ["jobs:write"])["id"])
        """
        return Request(method="DELETE", path="/v1/keys/{id}", variables={"id": key_id}, read=nothing)

    # The audit

    @operation
    def list_audit(
        self, *, resource: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Request[Page[Change]]:
        """A page of who changed what, latest first; ``resource``: the id of a job, a target, a key or the tenant.

        >>> hourbell.list_audit(resource=billing["id"])["items"][0]["action"]
        'created'
        """
        query = {"resource": resource, "limit": limit, "cursor": cursor}
        return Request(method="GET", path="/v1/audit", query=query)

    iter_audit = all_of(list_audit, "Every change, latest first; arguments as ``list_audit``.")

    # The API itself

    @operation
    def stats(self) -> Request[Stats]:
        """How many jobs and runs there are in which state, what waits, and how late runs start.

        >>> hourbell.stats()["jobs"]["paused"]
        0
        """
        return Request(method="GET", path="/v1/stats")

    @operation
    def deployment(self) -> Request[Deployment]:
        """Clocks, schema, partitions and scanners; needs the scope ``operator``."""
        return Request(method="GET", path="/v1/deployment")

    @operation
    def health(self) -> Request[Health]:
        """Whether the API and its database answer. Needs no key.

        >>> hourbell.health()
        {'status': 'ok'}
        """
        return Request(method="GET", path="/v1/health")

    @operation
    def openapi(self) -> Request[dict[str, Any]]:
        """The OpenAPI document of this very API.

        >>> hourbell.openapi()["openapi"]
        '3.1.0'
        """
        return Request(method="GET", path="/openapi.json")

    @operation
    def request(
        self, method: Method, path: str, *, json: object = None, params: Mapping[str, object] | None = None
    ) -> Request[httpx.Response]:
        """Any call of the API, answered by the response itself.

        >>> hourbell.request("GET", "/v1/jobs", params={"limit": 1}).headers["content-type"]
        'application/json'
        """
        return Request(
            method=method,
            path=path.replace("{", "{{").replace("}", "}}"),
            query=params or {},
            body=json,
            read=_whole,
        )


def _action(path: str, resource_id: str, *, body: object = None, if_version: int | None = None) -> Request[Any]:
    """A POST to something under a resource."""
    return Request(method="POST", path=path, variables={"id": resource_id}, body=body, if_version=if_version)


def _declaration(
    name: str, definition: JsonObject, *, dry_run: bool | None = None, if_version: int | None = None
) -> Request[Any]:
    return Request(
        method="PUT",
        path="/v1/jobs/by-name/{name}",
        variables={"name": name},
        query={"dry_run": dry_run},
        # The name in the body too: gateways decode paths in ways of their own.
        body={"name": name, **definition},
        if_version=if_version,
    )


def _whole(response: httpx.Response) -> httpx.Response:
    return response
