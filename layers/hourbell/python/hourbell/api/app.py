"""The API as a Lambda sees it: an API Gateway event (payload format 2.0) in, a reply out, never an exception.

Powertools' resolver routes. Its validation stays off: it would cost 90 ms of every cold start, reads JSON as loosely as
``json.loads``, and answers in a shape of its own. Bodies are read by ``strict_json`` and checked by ``models`` instead.

An unknown key reaches this far too. HTTP APIs answer 403 when an authorizer says no, and the contract says 401, so the
authorizer lets such a request through *without* a tenant, and everything but the open operations stops here for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from aws_lambda_powertools.event_handler.api_gateway import APIGatewayHttpResolver, Response

from hourbell.api import (
    audit,
    backfills,
    declarations,
    deployment,
    job_batches,
    jobs,
    keys,
    meta,
    pull,
    run_control,
    runs,
    stats,
    target_tests,
    targets,
    tenants,
)
from hourbell.api.answer_once import answer_once
from hourbell.api.calls import Api, Call, Reply, read_query
from hourbell.api.operations import Operation
from hourbell.api.problems import (
    CONTENT_TYPE,
    AuthenticationError,
    Problem,
    ScopeError,
    not_found,
    problem_of,
)
from hourbell.api.strict_json import bad
from hourbell.cold.errors import RecordError, SegmentError
from hourbell.services.authenticate import Principal
from hourbell.services.quotas import admit_request
from hourbell.store.tenant_database import Actor, TenantDatabase

OPERATIONS = (
    *jobs.OPERATIONS,
    *job_batches.OPERATIONS,
    *backfills.OPERATIONS,
    *declarations.OPERATIONS,
    *targets.OPERATIONS,
    *target_tests.OPERATIONS,
    *runs.OPERATIONS,
    *run_control.OPERATIONS,
    *keys.OPERATIONS,
    *pull.OPERATIONS,
    *audit.OPERATIONS,
    *stats.OPERATIONS,
    *tenants.OPERATIONS,
    *deployment.OPERATIONS,
    *meta.OPERATIONS,
)
_NAME = "{name}"

Event = Mapping[str, Any]


class Application:
    """All operations behind one resolver."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._resolver = APIGatewayHttpResolver()
        for operation in OPERATIONS:
            is_page = operation.content_type == "text/html"
            route = self._resolver.route(_rule(operation), method=operation.method, compress=is_page)
            route(self._bound(operation))
        self._resolver.not_found(self._not_found)

    def handle(self, event: Event, context: Any, *, now: datetime) -> dict[str, Any]:
        """Answer one event."""
        try:
            self._resolver.context["now"] = now
            return self._resolver.resolve(event, context)
        except Exception as error:  # noqa: BLE001 - the last resort; logged in problem_of
            return _proxy_reply(_problem_reply(problem_of(error)))

    def _bound(self, operation: Operation) -> Callable[..., Response[str]]:
        def answer(**path: str) -> Response[str]:
            try:
                reply = self._answer(operation, path)
            except Exception as error:  # noqa: BLE001 - every error becomes a problem; unforeseen ones are logged there
                reply = self._refused(error)
            return _response(reply)

        return answer

    def _answer(self, operation: Operation, path: Mapping[str, str]) -> Reply:
        event: Event = self._resolver.current_event.raw_event
        if operation.path.endswith(_NAME):
            path = {"name": self._resolver.current_event.path.partition(operation.path.removesuffix(_NAME))[2]}
        caller = _caller(event)
        if operation.scope is not None:
            if caller is None:
                raise AuthenticationError("no valid key")
            if not caller.may(operation.scope):
                raise ScopeError(operation.scope)
        call = Call(
            api=self._api,
            caller=caller,
            now=self._resolver.context["now"],
            path=path,
            query=_query(operation, event.get("rawQueryString") or ""),
            headers={name.lower(): value for name, value in (event.get("headers") or {}).items()},
            raw_body=event.get("body") or "",
            is_base64=bool(event.get("isBase64Encoded")),
        )
        if caller is None:
            return operation.handle(call)
        database = TenantDatabase(self._api.scheduler.database, _actor(caller, event))
        if caller.max_requests_per_second is not None and operation.scope is not None:
            admit_request(database, caller.tenant_id, max_per_second=caller.max_requests_per_second, now=call.now)
        if operation.addresses_job:
            call = call.addressed(database)
        if operation.acts:
            reply = answer_once(operation, call, database, request=f"{operation.method} {event.get('rawPath')}")
            return reply if operation.follow is None else operation.follow(call.through(database=database), reply)
        return operation.handle(call.through(database=database))

    def _refused(self, error: Exception) -> Reply:
        if isinstance(error, SegmentError | RecordError):
            self._api.count({"ColdSegmentsBroken": 1})
        return _problem_reply(problem_of(error))

    def _not_found(self, _error: Exception) -> Response[str]:
        if _caller(self._resolver.current_event.raw_event) is None:
            return _response(_problem_reply(problem_of(AuthenticationError("no valid key"))))
        return _response(_problem_reply(not_found("route")))


def _rule(operation: Operation) -> str:
    """The resolver's own variables hold no slash and few signs, and a name may: it takes the rest of the path."""
    if operation.path.endswith(_NAME):
        return operation.path.removesuffix(_NAME) + r"[\s\S]+"
    return operation.path.replace("{", "<").replace("}", ">")


def _query(operation: Operation, raw: str) -> dict[str, list[str]]:
    """The query string; what the operation does not know is refused, but for pages that anybody may link to."""
    query = read_query(raw)
    unknown = query.keys() - {known.name for known in operation.query}
    if unknown and operation.scope is not None:
        raise bad(min(unknown), "is not a known query parameter")
    return query


def _caller(event: Event) -> Principal | None:
    """Who the authorizer says is calling; None where there was none, or where it found no valid key."""
    context = ((event.get("requestContext") or {}).get("authorizer") or {}).get("lambda") or {}
    return Principal.from_context(context)


def _actor(caller: Principal, event: Event) -> Actor:
    request_id = (event.get("requestContext") or {}).get("requestId") or ""
    return Actor(tenant_id=caller.tenant_id, key_id=caller.key_id, request_id=str(request_id))


def _problem_reply(problem: Problem) -> Reply:
    return Reply(status=problem.status, body=problem.body(), content_type=CONTENT_TYPE, headers=dict(problem.headers))


def _response(reply: Reply) -> Response[str]:
    return Response(
        status_code=reply.status, content_type=reply.content_type, body=reply.body, headers=dict(reply.headers)
    )


def _proxy_reply(reply: Reply) -> dict[str, Any]:
    headers = {**reply.headers, "Content-Type": reply.content_type}
    return {"statusCode": reply.status, "headers": headers, "body": reply.body, "isBase64Encoded": False}
