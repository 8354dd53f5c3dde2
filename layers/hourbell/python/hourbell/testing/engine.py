"""One engine under test: the parts of production, wired to a clock that is set and to lanes that are a list."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

import httpx
import psycopg

from hourbell.api.app import Application
from hourbell.api.calls import Api
from hourbell.client import AsyncClient, Client, Run, Target
from hourbell.domain.errors import HourbellError
from hourbell.domain.ids import encode
from hourbell.domain.limits import SHARDS
from hourbell.lanes.deliveries import Delivery
from hourbell.services.execute_attempt import AttemptExecutor
from hourbell.services.execute_batch import Executor, execute_batch
from hourbell.services.jobs import Scheduler
from hourbell.services.reap_runs import reap_runs
from hourbell.services.scan_shards import ScanRange, scan_shards
from hourbell.services.tenants import OPERATOR, SCOPES, create_api_key, create_tenant
from hourbell.store.connection import Database
from hourbell.store.moments import next_moment
from hourbell.targets.arns import AllowedTargets, Home
from hourbell.targets.aws import AwsCaller
from hourbell.targets.client import make_client
from hourbell.targets.http import HttpCaller
from hourbell.targets.registry import Callers
from hourbell.targets.rules import TargetRules
from hourbell.targets.signature import signing_key
from hourbell.testing.clock import Clock, as_instant
from hourbell.testing.functions import Function, FunctionTransport, ReceivedCall
from hourbell.testing.lanes import MemoryLanes
from hourbell.testing.transport import ApplicationTransport

if TYPE_CHECKING:
    from hourbell.domain.outcome import AttemptResult
    from hourbell.local.postgres import PostgresServer
    from hourbell.store.executions import LeasedRun
    from hourbell.targets.aws import AwsService

AwsClients: TypeAlias = "Callable[[AwsService], Any]"

URL = "http://hourbell.test"
HORIZON = timedelta(seconds=120)
_ALL_SHARDS = ScanRange(first_shard=0, last_shard=SHARDS - 1)
_RULES = TargetRules(
    stage="test",
    home=Home(region="eu-west-1", account="123456789012"),
    allowed=AllowedTargets(("arn:*",)),
    private_allowed=True,
)


def no_aws(service: AwsService) -> Any:
    """The engine was given no way to AWS."""
    raise HourbellError(f"this engine has no client of {service.name}: give it aws_clients")


class Engine:
    """Hourbell with one tenant.

    Attributes:
        clock: what time it is.
        client: the API, as that tenant.
    """

    def __init__(
        self, postgres: PostgresServer, database: str, *, now: datetime | str, tenant: str, aws_clients: AwsClients
    ) -> None:
        self._admin = psycopg.connect(postgres.conninfo(database=database), autocommit=True)
        self.clock = Clock(self._admin, now)
        self._databases = {
            role: Database(postgres.conninfo(database=database, user=f"hourbell_{role}"))
            for role in ("migrator", "api", "authorizer", "scanner", "worker")
        }
        self._lanes = MemoryLanes()
        self._attempted: list[str] = []
        self._stage_key = secrets.token_bytes(32)
        self._runner = asyncio.Runner()
        network = make_client(private_allowed=True)
        self._functions = FunctionTransport(network._transport, self.clock)
        self._http = httpx.AsyncClient(transport=self._functions, trust_env=False)
        self._executor = self._make_executor(aws_clients)
        self._transport = self._make_transport()
        self._api_key = self._make_key(tenant)
        self.client = self.new_client()

    @property
    def calls(self) -> list[ReceivedCall]:
        """What the functions received, in order."""
        return self._functions.calls

    def new_client(self) -> Client:
        """Another client of the same API, for code that closes its own."""
        return Client(URL, self._api_key, transport=self._transport)

    def async_client(self) -> AsyncClient:
        """Another client of the same API, for asyncio."""
        return AsyncClient(URL, self._api_key, transport=self._transport)

    def add_target(self, name: str, to: Function | str, **limits: Any) -> Target:
        """Make a target of a Python function, or of a URL that is really called; ``limits`` as in ``create_target``.

        The function is given a ``ReceivedCall``. The attempt succeeds when it returns and fails when it raises, unless
        it answers a status (``429``), or a whole ``httpx.Response``: a ``Retry-After``, a 202 with ``Hourbell-Async``.
        """
        url = to if isinstance(to, str) else self._functions.url(name)
        target = self.client.create_target(name, {"url": url}, **limits)
        if not isinstance(to, str):
            secret = self.client.signing_secret(target["id"])["signing_secret"]
            self._functions.answer(name, to, secret=str(secret))
        return target

    def run_due_jobs(self) -> list[Run]:
        """Let the engine do what is to be done by now: claim, lease, execute, recover; until nothing is left.

        Answers the runs that were attempted, in that order, as the API shows them afterwards; one that was attempted
        twice stands there once.
        """
        self._attempted.clear()
        while True:
            self._scan()
            ready = self._lanes.take_ready(self.clock.now)
            if not ready:
                return [self.client.get_run(run_id) for run_id in dict.fromkeys(self._attempted)]
            deliveries = [Delivery(message_id=str(number), message=message) for number, message in enumerate(ready)]
            report = self._runner.run(execute_batch(self._executor, deliveries))
            if report.failed:
                raise HourbellError("outcomes could not be recorded: see the log")

    def run_until(self, instant: datetime | str) -> list[Run]:
        """Let time pass up to an instant, and everything run at its own moment on the way there.

        Answers the runs that were attempted, as ``run_due_jobs`` does.
        """
        end = as_instant(instant)
        attempted = {run["id"]: None for run in self.run_due_jobs()}
        while self.clock.now < end:
            self.clock.set(min(self._next_moment() or end, end))
            attempted.update(dict.fromkeys(run["id"] for run in self.run_due_jobs()))
        return [self.client.get_run(run_id) for run_id in attempted]

    def close(self) -> None:
        """Close every connection."""
        self.client.close()
        for database in self._databases.values():
            database.close()
        self._runner.run(self._databases["worker"].close_async())
        self._runner.run(self._http.aclose())
        self._runner.close()
        self._admin.close()

    def _scan(self) -> None:
        scanner = self._databases["scanner"]
        scan_shards(scanner, self._lanes, _ALL_SHARDS, owner=URL, horizon=HORIZON, time_left=_always)
        reap_runs(scanner, self._lanes, time_left=_always)

    def _next_moment(self) -> datetime | None:
        now = self.clock.now
        in_database = self._databases["migrator"].run(lambda connection: next_moment(connection, after=now))
        in_lanes = self._lanes.next_ready_at(after=now)
        return min((moment for moment in (in_database, in_lanes) if moment is not None), default=None)

    def _make_executor(self, aws_clients: AwsClients) -> Executor:
        http = HttpCaller(client=self._http, clock=self.clock, key=self._target_key)
        aws = AwsCaller(aws_clients, _RULES)
        attempts = AttemptExecutor(callers=Callers(http=http, aws=lambda: aws))

        async def execute(run: LeasedRun) -> AttemptResult:
            self._attempted.append(encode("run", run.run_id))
            return await attempts.execute(run)

        return Executor(
            database=self._databases["worker"],
            lanes=self._lanes,
            execute=execute,
            call=attempts.call,
            clock=self.clock,
        )

    def _make_transport(self) -> ApplicationTransport:
        database = self._databases["api"]
        scheduler = Scheduler(database=database, lanes=self._lanes, horizon=HORIZON)
        api = Api(scheduler=scheduler, stage_key=lambda: self._stage_key, target_rules=lambda: _RULES)
        return ApplicationTransport(Application(api), self._databases["authorizer"], self.clock)

    def _make_key(self, tenant: str) -> str:
        owner, now = self._databases["migrator"], self.clock.now
        tenant_id = create_tenant(owner, tenant, now=now)
        return create_api_key(owner, tenant_id, name="test", now=now, scopes=(*SCOPES, OPERATOR)).secret

    async def _target_key(self, target_id: UUID, secret: str | None) -> bytes:
        if secret is not None:
            raise HourbellError(f"this engine has no Secrets Manager, so no secret {secret}")
        return signing_key(self._stage_key, target_id)


def _always() -> bool:
    return True
