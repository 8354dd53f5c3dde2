"""One connection per execution environment, and transactions that survive a failover.

After a failover a connection may look healthy and point at a reader (SQLSTATE 25006), or be closed under us
(57P01, class 08). The connection is dropped, a new one resolved and opened, and the *whole* transaction repeated.
Deadlocks and serialization failures (40P01, 40001) repeat the transaction on the same connection.

A connection may also break under a commit, so that nobody hears whether it was one. ``transact`` asks Postgres what
became of that transaction, instead of making it again.

Nothing here may pin an RDS Proxy session: no SET, no prepared statements, no session locks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from random import SystemRandom
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg

if TYPE_CHECKING:
    from collections.abc import Awaitable

T = TypeVar("T")

# Jitter. From the system: environments restored from one snapshot must not all draw the same numbers.
_random = SystemRandom().random

Connection = psycopg.Connection[tuple[Any, ...]]
AsyncConnection = psycopg.AsyncConnection[tuple[Any, ...]]

# Answers the connection of a transaction, begun by its first call.
Begin = Callable[[], Connection]

ATTEMPTS = 5
CONNECT_TIMEOUT_SECONDS = 5

_REPEAT = frozenset({"40P01", "40001"})
_FAILOVER = frozenset({"25006", "57P01", "57P02", "57P03"})


def _is_failover(error: psycopg.Error) -> bool:
    state = error.sqlstate
    if state is None:  # the client saw the socket close: no server said why
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return state in _FAILOVER or state.startswith("08")


def _pause(attempt: int) -> float:
    """Seconds to wait before the next attempt: full jitter, doubling from 50 ms to at most 2 s."""
    ceiling: float = min(2.0, 0.05 * 2**attempt)
    return _random() * ceiling


class _Beginning:
    """Begins one transaction, at the first call."""

    def __init__(self, connect: Begin, stack: ExitStack) -> None:
        self._connect = connect
        self._stack = stack
        self._connection: Connection | None = None

    def __call__(self) -> Connection:
        if self._connection is None:
            connection = self._connect()
            self._stack.enter_context(connection.transaction())
            self._connection = connection
        return self._connection

    def transaction_id(self) -> str | None:
        """What Postgres knows the transaction by; None: it has changed nothing."""
        if self._connection is None:
            return None
        row = self._connection.execute("select pg_current_xact_id_if_assigned()::text").fetchone()
        return None if row is None else row[0]


class Database:
    """The database as one execution environment sees it.

    Args:
        conninfo: libpq connection string without a password.
        password: gives the password for a new connection (an IAM token lives 15 minutes, so each connection
            asks anew); None when the server asks for none.
    """

    def __init__(self, conninfo: str, password: Callable[[], str] | None = None) -> None:
        self._conninfo = conninfo
        self._password = password
        self._connection: Connection | None = None
        self._async_connection: AsyncConnection | None = None

    def run(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` inside one transaction, repeated whole when the database asks for it.

        ``work`` may run several times: it must have no effect outside the database.

        Raises:
            psycopg.Error: what is left after the attempts, or an error that repeating does not cure.
        """
        attempt = 0
        while True:
            try:
                connection = self._connect()
                with connection.transaction():
                    return work(connection)
            except psycopg.Error as error:
                attempt += 1
                if not self._repeatable(error) or attempt >= ATTEMPTS:
                    raise
            time.sleep(_pause(attempt))

    def transact(self, work: Callable[[Begin], T]) -> T:
        """As ``run``, for what must not be done twice; ``work`` begins the transaction when it first needs it.

        A commit whose answer was lost is looked up: committed, the value is answered; aborted, the work is repeated.

        Raises:
            psycopg.Error: as ``run``; the transaction may then have been committed, if the connection broke at its end.
        """
        unheard: tuple[str, T] | None = None
        attempt = 0
        while True:
            try:
                if unheard is not None and self._is_committed(unheard[0]):
                    return unheard[1]
                unheard = None
                with ExitStack() as stack:
                    begin = _Beginning(self._connect, stack)
                    value = work(begin)
                    transaction_id = begin.transaction_id()
                    unheard = None if transaction_id is None else (transaction_id, value)
                return value
            except psycopg.Error as error:
                attempt += 1
                if not self._repeatable(error) or attempt >= ATTEMPTS:
                    raise
            time.sleep(_pause(attempt))

    async def run_async(self, work: Callable[[AsyncConnection], Awaitable[T]], *, single: bool = False) -> T:
        """As ``run``, for the worker's event loop. Callers take turns: one connection, one transaction.

        ``single``: the work is one statement, a transaction by itself: one round trip instead of three.
        """
        import asyncio

        attempt = 0
        while True:
            try:
                connection = await self._connect_async()
                async with nullcontext() if single else connection.transaction():
                    return await work(connection)
            except psycopg.Error as error:
                attempt += 1
                if not self._repeatable(error) or attempt >= ATTEMPTS:
                    raise
            await asyncio.sleep(_pause(attempt))

    async def open_async(self) -> None:
        """Open the event loop's connection now, so that the first lease need not."""
        await self._connect_async()

    def close(self) -> None:
        """Close the synchronous connection; the next ``run`` opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def close_async(self) -> None:
        """Close the event loop's connection; the next ``run_async`` opens a new one."""
        if self._async_connection is not None:
            await self._async_connection.close()
            self._async_connection = None

    def _is_committed(self, transaction_id: str) -> bool:
        row = self._connect().execute("select pg_xact_status(%s::xid8)", (transaction_id,)).fetchone()
        if row == ("in progress",):
            raise psycopg.OperationalError("the server has not noticed yet that the connection broke")
        return row == ("committed",)

    def _repeatable(self, error: psycopg.Error) -> bool:
        if error.sqlstate in _REPEAT:
            return True
        if _is_failover(error):
            self._drop()
            return True
        return False

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._async_connection is not None:
            # Closing the socket needs no event loop, and the server is gone or read-only anyway.
            self._async_connection.pgconn.finish()
            self._async_connection = None

    def _arguments(self) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "autocommit": True,
            "prepare_threshold": None,
            "connect_timeout": CONNECT_TIMEOUT_SECONDS,
        }
        if self._password is not None:
            arguments["password"] = self._password()
        return arguments

    def _connect(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self._conninfo, **self._arguments())
        return self._connection

    async def _connect_async(self) -> AsyncConnection:
        if self._async_connection is None or self._async_connection.closed:
            self._async_connection = await psycopg.AsyncConnection.connect(
                self._conninfo,
                **self._arguments(),
            )
        return self._async_connection
