"""For whoever owns a target: is this call really Hourbell's, and was this run's work done before?

    from hourbell.receiver import PostgresLedger, verify

    def handle(headers, body):
        delivery = verify(headers, body, secrets=["whsec_…"])
        with psycopg.connect(…) as connection:          # one transaction: the ledger's row and the work's, or neither
            if PostgresLedger(connection).first_time(delivery.run_id):
                settle_invoices(connection, json.loads(body))

Hourbell delivers each run at least once, with the same run id every time. The ledger makes the effect happen once,
provided that its row commits together with the work. Only the standard library is imported here.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

# How old, or how far in the future, a signed call may be (Standard Webhooks' own advice).
TOLERANCE_SECONDS = 300

_PREFIX = "whsec_"


class SignatureError(Exception):
    """The call is not Hourbell's, or no longer is: answer 401 and do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A verified call. ``run_id`` is the idempotency key; ``progress``: JSON text, handed on from a failed attempt."""

    run_id: str
    job_id: str
    attempt: int
    scheduled_for: datetime
    lease_token: str
    progress: str | None


def verify(
    headers: Mapping[str, str],
    body: bytes,
    *,
    secrets: Sequence[str],
    now: float | None = None,
    tolerance_seconds: int = TOLERANCE_SECONDS,
) -> Delivery:
    """Check the signature (Standard Webhooks, ``v1``) and take the headers apart.

    ``secrets``: the target's, in any order; give the old and the new one while rotating. ``now``: seconds since 1970.

    Raises:
        SignatureError: a header is missing, the call is too old, or no secret made this signature.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    try:
        message_id, timestamp = lower["webhook-id"], int(lower["webhook-timestamp"])
        signatures = lower["webhook-signature"].split()
    except (KeyError, ValueError) as error:
        raise SignatureError(f"a webhook header is missing or malformed: {error}") from error
    if abs((time.time() if now is None else now) - timestamp) > tolerance_seconds:
        raise SignatureError("the call is too old, or a clock is wrong")
    signed = f"{message_id}.{timestamp}.".encode() + body
    wanted = [hmac.digest(_key(secret), signed, hashlib.sha256) for secret in secrets]
    # Every pair is compared, in constant time each: how long it takes says nothing.
    matches = [hmac.compare_digest(given, digest) for given in _given(signatures) for digest in wanted]
    if not any(matches):
        raise SignatureError("no signature matches")
    return _delivery(lower, message_id)


def _key(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix(_PREFIX)) if secret.startswith(_PREFIX) else secret.encode()


def _given(signatures: Sequence[str]) -> list[bytes]:
    found = []
    for signature in signatures:
        version, _, value = signature.partition(",")
        if version == "v1":
            try:
                found.append(base64.b64decode(value, validate=True))
            except (binascii.Error, ValueError):
                continue
    return found


def _delivery(headers: Mapping[str, str], run_id: str) -> Delivery:
    try:
        return Delivery(
            run_id=run_id,
            job_id=headers["hourbell-job"],
            attempt=int(headers["hourbell-attempt"]),
            scheduled_for=datetime.fromisoformat(headers["hourbell-scheduled-for"]),
            lease_token=headers["hourbell-lease-token"],
            progress=headers.get("hourbell-progress"),
        )
    except (KeyError, ValueError) as error:
        raise SignatureError(f"a Hourbell header is missing or malformed: {error}") from error


class PostgresLedger:
    """Processed runs in your own PostgreSQL, through your own connection (psycopg, or any DB-API with ``%s``).

    The table, made once::

        create table processed_run (run_id text primary key, processed_at timestamptz not null default now());
    """

    def __init__(self, connection: Any, *, table: str = "processed_run") -> None:
        if not table.replace("_", "").replace(".", "").isalnum():
            raise ValueError(f"not a table name: {table!r}")
        self._connection = connection
        self._insert = f"insert into {table} (run_id) values (%s) on conflict do nothing"  # noqa: S608 - checked above

    def first_time(self, run_id: str) -> bool:
        """Whether this run's work is still to be done, recorded in your transaction: commit both or neither.

        A second delivery at the same moment waits here until the first one has committed or rolled back.
        """
        cursor = self._connection.cursor()
        cursor.execute(self._insert, (run_id,))
        return bool(cursor.rowcount)


class DynamoLedger:
    """Processed runs in a DynamoDB table with the string key ``run_id``; ``expires_at`` may be its TTL attribute.

    For work that itself writes to DynamoDB, put ``condition(run_id)`` into the same ``transact_write_items`` instead:
    only then do the row and the work commit together.
    """

    def __init__(self, client: Any, *, table: str, keep_seconds: int = 30 * 86_400) -> None:
        self._client = client
        self._table = table
        self._keep_seconds = keep_seconds

    def condition(self, run_id: str, *, now: float | None = None) -> dict[str, Any]:
        """The ``Put`` that succeeds for one delivery of this run only."""
        expires_at = int((time.time() if now is None else now) + self._keep_seconds)
        return {
            "TableName": self._table,
            "Item": {"run_id": {"S": run_id}, "expires_at": {"N": str(expires_at)}},
            "ConditionExpression": "attribute_not_exists(run_id)",
        }

    def first_time(self, run_id: str) -> bool:
        """Record the run; whether nobody had before. Call ``forget`` when the work then fails."""
        try:
            self._client.put_item(**self.condition(run_id))
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        return True

    def forget(self, run_id: str) -> None:
        """Take the record back, so that the retry does the work."""
        self._client.delete_item(TableName=self._table, Key={"run_id": {"S": run_id}})
