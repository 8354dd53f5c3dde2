"""Bringing a local cloud up and down.

``up`` is safe to call at any time: on a running cloud it deploys what changed, or nothing; after a crash, also one of
its own half-way, it first ends what was left over. ``down`` ends every process and keeps the database and the key.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from hourbell.local import cold, emulator, warm
from hourbell.local.deploy import Deployment
from hourbell.local.emulator import Emulator
from hourbell.local.errors import LocalCloudError
from hourbell.local.postgres import EmbeddedPostgres, PostgresServer
from hourbell.local.processes import ProcessRecord
from hourbell.local.progress import Progress, Silence
from hourbell.local.project import Project, StateDirectory
from hourbell.local.state import EMULATOR, POSTGRES, Cloud, CloudRecord, locked
from hourbell.services.tenants import OPERATOR, SCOPES, create_api_key, create_tenant, key_digest
from hourbell.store.bootstrap import bootstrap
from hourbell.store.connection import Database

DATABASE = "hourbell"
TENANT = "local"

_FIND_KEY = "select 1 from api_key where secret_sha256 = %s and revoked_at is null"


def up(project: Project, state: StateDirectory, *, progress: Progress | None = None) -> Cloud:
    """Bring the cloud up, or up to date.

    Raises:
        LocalCloudError: it does not come up. What this call started was ended again.
    """
    watcher = progress or Silence()
    with locked(state):
        record = CloudRecord.read(state) or CloudRecord()
        if record.is_up:
            return _Ascent(project, state, watcher, record).update()
        _end_everything(state, record)
        ascent = _Ascent(project, state, watcher, replace(record, ready=False, pids={}, inputs=None))
        try:
            return ascent.start()
        except BaseException:
            _end_everything(state, ascent.record)
            ascent.remember(pids={})
            raise


def down(project: Project, state: StateDirectory, *, purge: bool = False) -> bool:  # noqa: ARG001 - the pair of up
    """End every process of this cloud; whether there was any.

    Args:
        purge: forget it wholly: jobs, runs, key, logs.
    """
    if not state.path.exists():
        return False
    with locked(state):
        record = CloudRecord.read(state) or CloudRecord()
        ended = _end_everything(state, record)
        if purge:
            _postgres(state).remove()
            shutil.rmtree(state.objects, ignore_errors=True)
            shutil.rmtree(state.logs, ignore_errors=True)
            state.record.unlink(missing_ok=True)
        elif record.pids or record.ready:
            replace(record, ready=False, pids={}, inputs=None).write(state)
        return ended


def _postgres(state: StateDirectory) -> EmbeddedPostgres:
    return EmbeddedPostgres(data=state.database, sockets=state.sockets, log=state.logs / "postgres.log")


def _end_everything(state: StateDirectory, record: CloudRecord) -> bool:
    """End what the record names, and what carries this cloud's mark without being recorded."""
    stopped_emulator = emulator.stop(record.pids.get(EMULATOR), mark=str(state.path))
    database = _postgres(state)
    stopped_postgres = database.find() is not None
    database.stop()
    shutil.rmtree(state.scratch, ignore_errors=True)
    return stopped_emulator or stopped_postgres


def _set_logs_aside(state: StateDirectory) -> None:
    """Keep the logs of the time before, and no more."""
    for log in state.logs.glob("*.log"):
        log.replace(log.with_suffix(".log.before"))


class _Ascent:
    """The steps of one ``up``, writing down each as it is done."""

    def __init__(self, project: Project, state: StateDirectory, progress: Progress, record: CloudRecord) -> None:
        self.record = record
        self._project = project
        self._state = state
        self._progress = progress

    def start(self) -> Cloud:
        """From nothing running to a cloud that answers."""
        _set_logs_aside(self._state)
        with self._progress.step("PostgreSQL"):
            server = self._start_postgres()
        deployment = self._deployment(server)
        with self._progress.step("AWS emulator"):
            machine = self._start_emulator()
            deployment.bootstrap(machine)
        with self._progress.step("Lambda layers"):
            deployment.build_layers(self._progress)
        self._deploy(deployment, machine)
        return self._open(machine)

    def update(self) -> Cloud:
        """On a running cloud: deploy what changed, if anything did."""
        deployment = self._deployment(None)
        with self._progress.step("Lambda layers"):
            deployment.build_layers(self._progress)
        if deployment.inputs() == self.record.inputs:
            return Cloud.of(self.record)
        machine = Emulator(port=self.record.emulator_port or 0, process=self.record.pids[EMULATOR])
        self._deploy(deployment, machine)
        return self._open(machine)

    def remember(self, **changes: object) -> None:
        """Write down what is known now."""
        self.record = replace(self.record, **changes)  # type: ignore[arg-type]
        self.record.write(self._state)

    def _start_postgres(self) -> PostgresServer:
        server = _postgres(self._state).start()
        self._remember_process(POSTGRES, server.process)
        self.remember(database=server.conninfo(database=DATABASE))
        _make_database(server)
        return server

    def _start_emulator(self) -> Emulator:
        cold.forget_all_else(self._state.objects)
        machine = emulator.start(
            python=self._project.emulator_python,
            programs=self._project.venv_bin,
            scratch=self._state.scratch,
            objects=self._state.objects,
            log=self._state.logs / "emulator.log",
            mark=str(self._state.path),
            preferred_port=self.record.emulator_port,
            started=lambda process: self._remember_process(EMULATOR, process),
        )
        self.remember(emulator_port=machine.port)
        cold.ensure_bucket(machine)
        return machine

    def _remember_process(self, role: str, process: ProcessRecord) -> None:
        self.remember(pids={**self.record.pids, role: process})

    def _deployment(self, server: PostgresServer | None) -> Deployment:
        sockets = server.sockets if server else self._state.sockets
        return Deployment(
            project=self._project,
            state=self._state,
            database=f"host={sockets} dbname={DATABASE} user={{role}}",
        )

    def _deploy(self, deployment: Deployment, machine: Emulator) -> None:
        with self._progress.step("cdk deploy"):
            outputs = deployment.deploy(machine, self._progress)
        self.remember(outputs=outputs, url=machine.api_url(_api_id(outputs)), inputs=deployment.inputs())

    def _open(self, machine: Emulator) -> Cloud:
        with self._progress.step("API key"):
            self.remember(api_key=self._valid_key() or self._new_key())
        with self._progress.step("Warm functions"):
            warm.warm([("api", self._call_api), *warm.function_tasks(machine.endpoint)], self._progress)
        self.remember(ready=True)
        return Cloud.of(self.record)

    def _valid_key(self) -> str | None:
        """The key of last time, if the database still knows it."""
        if self.record.api_key is None:
            return None
        with psycopg.connect(self._database) as connection:
            known = connection.execute(_FIND_KEY, (key_digest(self.record.api_key),)).fetchone()
        return self.record.api_key if known else None

    def _new_key(self) -> str:
        now = datetime.now(UTC)
        database = Database(self._database)
        try:
            tenant_id = create_tenant(database, TENANT, now=now)
            return create_api_key(database, tenant_id, name="make up", now=now, scopes=(*SCOPES, OPERATOR)).secret
        finally:
            database.close()

    def _call_api(self) -> None:
        import httpx

        cloud = Cloud.of(self.record)
        headers = {"Authorization": f"Bearer {cloud.api_key}"}
        with httpx.Client(trust_env=False, timeout=60) as http:
            http.get(f"{cloud.url}/v1/jobs?limit=1", headers=headers).raise_for_status()

    @property
    def _database(self) -> str:
        return self.record.database or ""


def _make_database(server: PostgresServer) -> None:
    """The database and its roles: what an administrator does once, before the first deployment."""
    with psycopg.connect(server.conninfo(), autocommit=True) as connection:
        known = connection.execute("select 1 from pg_database where datname = %s", (DATABASE,)).fetchone()
        if known is None:
            connection.execute(sql.SQL("create database {}").format(sql.Identifier(DATABASE)))
    with psycopg.connect(server.conninfo(database=DATABASE), autocommit=True) as connection:
        bootstrap(connection)


def _api_id(outputs: Mapping[str, str]) -> str:
    """The API's id, which opens the host name of its URL: https://<id>.execute-api.…"""
    host = urlsplit(outputs.get("ApiUrl", "")).hostname
    if host is None:
        raise LocalCloudError(f"The stacks gave out no ApiUrl, only {sorted(outputs)}.")
    return host.split(".")[0]
