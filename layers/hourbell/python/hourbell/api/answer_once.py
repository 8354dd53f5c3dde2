"""What acts is carried out once, however often it is asked for under one ``Idempotency-Key``.

1. The whole request is one transaction; what it sends goes out after the commit.
2. With a key, the transaction takes the key first. Where the key is another request's at this moment: 409, come back.
3. Where the key has an answer: that answer, if the request is the same to the letter, else 422.
4. Otherwise the request is carried out, and its answer kept under the key, in the same transaction. An error undoes
   both: what failed may be sent again under its key.
5. A commit whose answer was lost on the way from the database is looked up there (``Database.transact``).
"""

from __future__ import annotations

import hashlib
import re

from hourbell.api.calls import Call, Reply
from hourbell.api.operations import Operation
from hourbell.api.problems import KeyReusedError, RequestUnderWayError
from hourbell.api.strict_json import bad
from hourbell.lanes.held import HeldLanes
from hourbell.services.runs import dispatch_quietly
from hourbell.store import idempotency
from hourbell.store.connection import Begin
from hourbell.store.idempotency import AnsweredRequest
from hourbell.store.tenant_database import JoinedDatabase, TenantDatabase

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
MAX_LENGTH = 255
_KEY = re.compile(rf"[!-~]{{1,{MAX_LENGTH}}}")


def answer_once(operation: Operation, call: Call, database: TenantDatabase, *, request: str) -> Reply:
    """The answer to a request that acts. ``request``: its method and path.

    Raises:
        FieldErrors: the key is none. KeyReusedError, RequestUnderWayError.
    """
    key = _key(call)
    digest = hashlib.sha256(f"{request}\n{call.raw_body}".encode("utf-8", "surrogatepass")).digest()

    def answer(begin: Begin) -> tuple[Reply, HeldLanes]:
        lanes = HeldLanes()
        known = None if key is None else _known(begin, call, key, digest)
        if known is not None:
            return known, lanes
        reply = operation.handle(call.through(database=JoinedDatabase(begin), lanes=lanes))
        if key is not None:
            _keep(begin, call, key, digest, reply)
        return reply, lanes

    reply, lanes = database.transact(answer)
    dispatch_quietly(database, call.api.scheduler.lanes, lanes.messages, now=call.now)
    return reply


def _key(call: Call) -> str | None:
    key = call.headers.get(HEADER.lower())
    if key is not None and _KEY.fullmatch(key) is None:
        raise bad(HEADER, f"must be 1 to {MAX_LENGTH} visible ASCII characters")
    return key


def _known(begin: Begin, call: Call, key: str, digest: bytes) -> Reply | None:
    connection = begin()
    if not idempotency.lock_request(connection, call.tenant_id, key):
        raise RequestUnderWayError("a request with this Idempotency-Key is being carried out")
    found = idempotency.find_request(connection, call.tenant_id, key, now=call.now)
    if found is None:
        return None
    if found.request_sha256 != digest:
        raise KeyReusedError("this Idempotency-Key was used for another request")
    return Reply(status=found.status, body=found.body, headers={**found.headers, REPLAYED: "true"})


def _keep(begin: Begin, call: Call, key: str, digest: bytes, reply: Reply) -> None:
    answered = AnsweredRequest(
        request_sha256=digest,
        status=reply.status,
        headers=dict(reply.headers),
        body=reply.body if reply.kept is None else reply.kept,
    )
    idempotency.keep_request(begin(), call.tenant_id, key, answered, now=call.now)
