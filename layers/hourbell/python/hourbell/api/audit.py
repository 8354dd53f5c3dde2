"""The operations that show who changed what."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from hourbell.api.calls import Call, Reply
from hourbell.api.cursors import Listing
from hourbell.api.operations import PAGE, Operation, Query
from hourbell.api.strict_json import bad
from hourbell.api.views import audit_json
from hourbell.domain.ids import Prefix, decode
from hourbell.services import audit
from hourbell.store.audit import StoredAudit

_PREFIXES: tuple[Prefix, ...] = ("job", "tgt", "key", "ten")


def list_job_audit(call: Call) -> Reply:
    """Latest first; also of a job that was deleted."""
    job_id = call.path_id("job", "job")
    return _page(
        call,
        job_id,
        lambda before, limit: audit.list_job_audit(
            call.api.scheduler.database,
            call.tenant_id,
            job_id,
            before=before,
            limit=limit,
            cold_job=call.cold_job,
        ),
    )


def list_audit(call: Call) -> Reply:
    """Latest first. What is older than 400 days is forgotten."""
    resource_id = _resource(call.one("resource"))
    return _page(
        call,
        resource_id,
        lambda before, limit: audit.list_audit(
            call.api.scheduler.database, call.tenant_id, resource_id=resource_id, before=before, limit=limit
        ),
    )


def _page(call: Call, resource_id: UUID | None, read: Callable[[int | None, int], list[StoredAudit]]) -> Reply:
    listing = Listing(name="changes", tenant_id=call.tenant_id, filters={"resource": resource_id})
    position, limit = call.position(listing), call.limit()
    found = read(None if position is None else int(position[0]), limit + 1)
    return call.page(listing, found, limit=limit, encode=audit_json, position=lambda entry: [entry.place])


def _resource(text: str | None) -> UUID | None:
    if text is None:
        return None
    for prefix in _PREFIXES:
        if text.startswith(f"{prefix}_"):
            return decode(prefix, text, field="resource")
    raise bad("resource", "must be the id of a job, a target, a key or a tenant")


OPERATIONS = (
    Operation(
        method="GET",
        path="/v1/jobs/{id}/audit",
        name="listJobAudit",
        summary="Who changed a job, and what",
        handle=list_job_audit,
        addresses_job=True,
        scope="jobs:read",
        reply="list of Change",
        query=PAGE,
        errors=(404,),
    ),
    Operation(
        method="GET",
        path="/v1/audit",
        name="listAudit",
        summary="Who changed what",
        handle=list_audit,
        scope="admin",
        reply="list of Change",
        query=(Query(name="resource", description="id of a job, a target, a key or the tenant"), *PAGE),
    ),
)
