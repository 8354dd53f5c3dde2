"""The operations of tenants, for operators: no key of a tenant's own has the scope, whatever else it may do."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from uuid import UUID

from hourbell.api import strict_json
from hourbell.api.calls import Call, Reply
from hourbell.api.cursors import Listing
from hourbell.api.operations import PAGE, Operation, Query
from hourbell.api.views import etag, new_tenant_json, quotas_mapping, tenant_json
from hourbell.domain.quotas import DEFAULT_QUOTAS, Quotas
from hourbell.store.connection import Database

if TYPE_CHECKING:
    from hourbell.store.tenants import StoredTenant


def create_tenant(call: Call) -> Reply:
    """With its first key, whose secret is in this reply and nowhere else. Quotas that are not named get defaults."""
    from hourbell.api import models
    from hourbell.services import operate_tenants

    value = call.json_object()[1]
    body = models.validated(models.TenantIn, value)
    made = operate_tenants.open_tenant(
        _database(call),
        call.principal,
        body.name,
        _merged(asdict(DEFAULT_QUOTAS), value.get("quotas")),
        now=call.now,
    )
    return Reply(
        status=201,
        body=new_tenant_json(made, made.key.secret),
        kept=new_tenant_json(made, None),
        headers={"ETag": etag(made.tenant.version)},
    )


def list_tenants(call: Call) -> Reply:
    """Newest first."""
    from hourbell.services import operate_tenants

    filters: dict[str, Any] = {"name": call.one("name")}
    listing = Listing(name="tenants", tenant_id=call.tenant_id, filters=filters)
    position, limit = call.position(listing), call.limit()
    before_id = None if position is None else UUID(hex=str(position[0]))
    found = operate_tenants.list_tenants(_database(call), **filters, before_id=before_id, limit=limit + 1)
    return call.page(listing, found, limit=limit, encode=tenant_json, position=lambda tenant: [tenant.tenant_id.hex])


def get_tenant(call: Call) -> Reply:
    """`jobs` is how many active and paused jobs it has."""
    from hourbell.services import operate_tenants

    return _reply(operate_tenants.get_tenant(_database(call), call.path_id("ten", "tenant")))


def edit_tenant(call: Call) -> Reply:
    """Merges (RFC 7396) quotas into those of the tenant; `null` takes a limit away.

    A tenant that has more than it may keeps what it has, and gets no more.
    """
    from hourbell.api import models
    from hourbell.services import operate_tenants

    patch = call.json_object()[1]
    models.validated(models.TenantPatchIn, patch)

    def revise(stored: StoredTenant) -> Quotas:
        return _merged(quotas_mapping(stored), patch.get("quotas"))

    return _reply(
        operate_tenants.set_quotas(
            _database(call), call.path_id("ten", "tenant"), revise, expected=call.expected(), now=call.now
        )
    )


def _merged(quotas: dict[str, Any], patch: dict[str, Any] | None) -> Quotas:
    return Quotas(**strict_json.merge_values(quotas, patch or {}))


def _reply(stored: StoredTenant) -> Reply:
    return Reply(body=tenant_json(stored), headers={"ETag": etag(stored.version)})


def _database(call: Call) -> Database:
    return call.api.scheduler.database


OPERATIONS = (
    Operation(
        method="POST",
        path="/v1/tenants",
        name="createTenant",
        summary="Create a tenant; a replay of this request does not show its key's secret again",
        handle=create_tenant,
        scope="operator",
        status=201,
        body="TenantIn",
        reply="NewTenant",
        conditional=True,
        errors=(409,),
    ),
    Operation(
        method="GET",
        path="/v1/tenants",
        name="listTenants",
        summary="List tenants, newest first",
        handle=list_tenants,
        scope="operator",
        reply="list of Tenant",
        query=(Query(name="name", description="exactly this name"), *PAGE),
    ),
    Operation(
        method="GET",
        path="/v1/tenants/{id}",
        name="getTenant",
        summary="One tenant",
        handle=get_tenant,
        scope="operator",
        reply="Tenant",
        conditional=True,
        errors=(404,),
    ),
    Operation(
        method="PATCH",
        path="/v1/tenants/{id}",
        name="editTenant",
        summary="Set quotas of a tenant: a JSON merge patch (RFC 7396)",
        handle=edit_tenant,
        scope="operator",
        body="TenantPatchIn",
        reply="Tenant",
        conditional=True,
        errors=(404, 412),
    ),
)
