"""A typed client of the HTTP API.

    with Client("https://…", "hb_live_…") as hourbell:
        job = hourbell.create_job({"schedule": {"cron": "0 2 * * *", "timezone": "UTC"}, "target": "billing"})

Replies are the API's JSON, typed. Creating calls carry an ``Idempotency-Key`` of their own.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NotRequired, Self, TypedDict, cast

if TYPE_CHECKING:
    import httpx

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

JsonObject = Mapping[str, Any]


class Job(TypedDict):
    """A job as the API shows it."""

    id: str
    name: str | None
    state: str
    schedule: dict[str, Any]
    target: Any
    payload: Any
    next_run_at: str | None
    next_runs: NotRequired[list[str]]
    version: int
    tier: str
    tags: dict[str, str]
    created_at: str
    updated_at: str


class Attempt(TypedDict):
    """One execution of a run."""

    number: int
    started_at: str
    finished_at: str | None
    outcome: str | None
    status_code: int | None
    error: str | None
    duration_ms: int | None


class Run(TypedDict):
    """A run as the API shows it; ``attempts`` only where one run is asked for."""

    id: str
    job_id: str
    scheduled_for: str
    fire_at: str
    state: str
    reason: str | None
    attempt: int
    lateness_ms: int | None
    attempts: NotRequired[list[Attempt]]


# By another spelling, because of ``lambda``: the member of the target's kind, and none for the others.
_TargetKinds = TypedDict(
    "_TargetKinds",
    {
        "http": NotRequired[dict[str, Any]],
        "lambda": NotRequired[dict[str, Any]],
        "sqs": NotRequired[dict[str, Any]],
        "sns": NotRequired[dict[str, Any]],
        "eventbridge": NotRequired[dict[str, Any]],
        "step_functions": NotRequired[dict[str, Any]],
    },
)


class Target(_TargetKinds):
    """A target as the API shows it."""

    id: str
    name: str
    state: str


class Occurrence(TypedDict):
    """One nominal time of a schedule."""

    scheduled_for: str
    local: str
    note: str | None


class JobPage(TypedDict):
    """A page of jobs; ``next_cursor`` is None on the last."""

    items: list[Job]
    next_cursor: str | None


class RunPage(TypedDict):
    """A page of runs; ``next_cursor`` is None on the last."""

    items: list[Run]
    next_cursor: str | None


class Preview(TypedDict):
    """The next occurrences of a schedule; ``description``: the schedule in plain words."""

    description: str | None
    occurrences: list[Occurrence]


class ClientError(Exception):
    """The call did not succeed; the message is fit for a person."""


class UnreachableError(ClientError):
    """No answer came. A creating call may have been carried out all the same."""


class ApiError(ClientError):
    """The API refused, with problem details (RFC 9457).

    Attributes:
        status: the HTTP status.
        problem: the whole body.
    """

    def __init__(self, status: int, problem: JsonObject) -> None:
        self.status = status
        self.problem = problem
        super().__init__(self._explain())

    @property
    def errors(self) -> list[tuple[str, str]]:
        """What is wrong with which field."""
        found = self.problem.get("errors") or []
        return [(str(error.get("field", "")), str(error.get("detail", ""))) for error in found]

    def _explain(self) -> str:
        if self.errors:
            return "; ".join(f"{field}: {detail}" for field, detail in self.errors)
        said = self.problem.get("detail") or self.problem.get("title") or self.problem.get("message")
        return str(said or f"the API answered {self.status}")


class Client:
    """One Hourbell, as one tenant sees it.

    Args:
        url: the API's address, without ``/v1``.
        api_key: ``hb_…``.
        transport: replaces the network in tests.

    Every call raises ``ApiError`` when the API refuses and ``UnreachableError`` when there is no answer.
    """

    def __init__(
        self,
        url: str,
        api_key: str,
        *,
        timeout_seconds: float = 30,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        import httpx  # here, so that a command that calls nothing does not wait for it

        self.url = url.rstrip("/")
        self._http = httpx.Client(
            headers={"Authorization": f"Bearer {api_key}"},
            timeout=timeout_seconds,
            transport=transport,
            # No proxy stands between this machine and itself.
            trust_env=httpx.URL(self.url).host not in _LOOPBACK,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def health(self) -> JsonObject:
        """Whether the API answers. Needs no key."""
        return self._object("GET", "/v1/health")

    def create_target(self, name: str, http: JsonObject | None = None, **members: Any) -> Target:
        """Name a destination: ``http``, or the member of another kind (``sqs={"queue_url": …}``); and its limits."""
        kind = {} if http is None else {"http": http}
        return cast("Target", self._object("POST", "/v1/targets", json={"name": name, **kind, **members}))

    def delete_target(self, target_id: str) -> None:
        """Forget a target that no job uses."""
        self.request("DELETE", f"/v1/targets/{target_id}")

    def create_job(self, definition: JsonObject) -> Job:
        """Create a job from the body that the API documents."""
        return cast("Job", self._object("POST", "/v1/jobs", json=definition))

    def create_jobs(self, definitions: Sequence[JsonObject], *, atomic: bool = True) -> JsonObject:
        """Create up to 1,000 jobs: all or none, or each for itself with a result of its own."""
        return self._object("POST", "/v1/jobs/batch", json={"jobs": list(definitions), "atomic": atomic})

    def list_jobs(self, *, limit: int = 50, cursor: str | None = None, **filters: str | None) -> JobPage:
        """A page of jobs; ``filters`` as the API names them (``state``, ``tag``, ``name`` …)."""
        return cast("JobPage", self._object("GET", "/v1/jobs", params={**filters, "limit": limit, "cursor": cursor}))

    def get_job(self, job_id: str) -> Job:
        """One job."""
        return cast("Job", self._object("GET", f"/v1/jobs/{job_id}"))

    def update_job(self, job_id: str, changes: JsonObject) -> Job:
        """Merge changes into a job (RFC 7396)."""
        return cast("Job", self._object("PATCH", f"/v1/jobs/{job_id}", json=changes))

    def delete_job(self, job_id: str) -> None:
        """Delete a job; its run records stay."""
        self.request("DELETE", f"/v1/jobs/{job_id}")

    def pause_job(self, job_id: str, *, note: str | None = None) -> Job:
        """Silence a job at once."""
        return cast("Job", self._object("POST", f"/v1/jobs/{job_id}/pause", json={"note": note} if note else {}))

    def resume_job(self, job_id: str, *, missed: str = "skip") -> Job:
        """Let a paused job go on; ``missed`` is ``skip`` or ``catch_up``."""
        return cast("Job", self._object("POST", f"/v1/jobs/{job_id}/resume", json={"missed": missed}))

    def skip_next(self, job_id: str) -> Job:
        """Take out the job's next occurrence."""
        return cast("Job", self._object("POST", f"/v1/jobs/{job_id}/skip-next", json={}))

    def trigger_job(self, job_id: str, body: JsonObject | None = None) -> Run:
        """Run a job now, with ``{"payload": …}`` of its own if given."""
        return cast("Run", self._object("POST", f"/v1/jobs/{job_id}/trigger", json=dict(body or {})))

    def upcoming(self, job_id: str, *, count: int = 10) -> Preview:
        """The next occurrences of a job."""
        return cast("Preview", self._object("GET", f"/v1/jobs/{job_id}/upcoming", params={"count": count}))

    def list_runs(self, *, limit: int = 50, cursor: str | None = None, **filters: str | None) -> RunPage:
        """A page of runs; ``filters`` as the API names them (``state``, ``job``, ``target`` …)."""
        return cast("RunPage", self._object("GET", "/v1/runs", params={**filters, "limit": limit, "cursor": cursor}))

    def job_runs(self, job_id: str, *, state: str | None = None, limit: int = 50, cursor: str | None = None) -> RunPage:
        """A page of one job's runs, newest first."""
        params = {"state": state, "limit": limit, "cursor": cursor}
        return cast("RunPage", self._object("GET", f"/v1/jobs/{job_id}/runs", params=params))

    def list_missed(self, job_id: str, *, limit: int = 50, cursor: str | None = None) -> JsonObject:
        """A page of the stretches of occurrences that a job missed, latest first."""
        return self._object("GET", f"/v1/jobs/{job_id}/missed", params={"limit": limit, "cursor": cursor})

    def get_run(self, run_id: str) -> Run:
        """One run with its attempts."""
        return cast("Run", self._object("GET", f"/v1/runs/{run_id}"))

    def retry_run(self, run_id: str) -> Run:
        """Start an ended run over, under its own id and with a full set of attempts."""
        return cast("Run", self._object("POST", f"/v1/runs/{run_id}/retry"))

    def cancel_run(self, run_id: str) -> Run:
        """Cancel a run that has not ended."""
        return cast("Run", self._object("POST", f"/v1/runs/{run_id}/cancel"))

    def request(
        self, method: str, path: str, *, json: Any = None, params: Mapping[str, Any] | None = None
    ) -> httpx.Response:
        """Any call of the API; the typed methods stand on it."""
        import httpx

        headers = {"Idempotency-Key": str(uuid.uuid4())} if method == "POST" else {}
        given = {name: value for name, value in (params or {}).items() if value is not None}
        try:
            response = self._http.request(method, self.url + path, json=json, params=given, headers=headers)
        except httpx.TransportError as error:
            raise UnreachableError(f"No answer from {self.url}: {error}") from error
        if response.is_success:
            return response
        raise ApiError(response.status_code, _problem(response))

    def _object(
        self, method: str, path: str, *, json: Any = None, params: Mapping[str, Any] | None = None
    ) -> JsonObject:
        response = self.request(method, path, json=json, params=params)
        try:
            body = response.json()
        except ValueError as error:
            raise ClientError(f"{self.url} answered something that is not JSON: is it a Hourbell API?") from error
        return cast("JsonObject", body)


def _problem(response: httpx.Response) -> JsonObject:
    try:
        body = response.json()
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {"detail": f"the API answered {response.status_code}"}
