"""The operations of a tenant's API keys. A secret is shown once, by the reply that made it, and kept nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from hourbell.api.calls import Call, Reply
from hourbell.api.cursors import Listing
from hourbell.api.operations import PAGE, Operation
from hourbell.api.views import key_json, new_key_json
from hourbell.domain.durations import parse_duration
from hourbell.domain.instants import parse_instant
from hourbell.domain.limits import KEY_GRACE_MAX_MS
from hourbell.store.connection import Database

if TYPE_CHECKING:
    from hourbell.services.keys import ShownKey


def create_key(call: Call) -> Reply:
    """It may do at most what the key that asks may do. The secret is in this reply and nowhere else."""
    from hourbell.api import models
    from hourbell.services import keys

    body = models.validated(models.KeyIn, call.json_object()[1])
    made = keys.create_key(
        _database(call),
        call.principal,
        name=body.name,
        scopes=body.scopes,
        expires_at=None if body.expires_at is None else parse_instant(body.expires_at, field="expires_at"),
        now=call.now,
    )
    return _shown(made, status=201)


def list_keys(call: Call) -> Reply:
    """Newest first, revoked ones too; none with its secret."""
    from hourbell.services import keys

    listing = Listing(name="keys", tenant_id=call.tenant_id, filters={})
    position, limit = call.position(listing), call.limit()
    before_id = None if position is None else UUID(hex=str(position[0]))
    found = keys.list_keys(_database(call), call.tenant_id, before_id=before_id, limit=limit + 1)
    return call.page(listing, found, limit=limit, encode=key_json, position=lambda key: [key.key_id.hex])


def get_key(call: Call) -> Reply:
    """Without its secret."""
    from hourbell.services import keys

    key = keys.get_key(_database(call), call.tenant_id, _key_id(call))
    return Reply(body=key_json(key), headers={"ETag": keys.key_tag(key)})


def rotate_key(call: Call) -> Reply:
    """The secret before it opens for `grace` longer; without a grace, it ends within a minute. Until then the key is
    not rotated again, unless by `force`, and the old secret manages no keys."""
    from hourbell.api import models
    from hourbell.services import keys

    body = models.validated(models.RotateIn, call.json_object(optional=True)[1])
    grace = parse_duration(body.grace, field="grace", maximum_ms=KEY_GRACE_MAX_MS)
    return _shown(
        keys.rotate_key(
            _database(call),
            call.principal,
            _key_id(call),
            grace=grace,
            force=body.force,
            expected=call.expected_tags(),
            now=call.now,
        )
    )


def revoke_key(call: Call) -> Reply:
    """Takes effect within a minute."""
    from hourbell.services import keys

    keys.revoke_key(_database(call), call.principal, _key_id(call), expected=call.expected_tags(), now=call.now)
    return Reply(status=204)


def _shown(made: ShownKey, *, status: int = 200) -> Reply:
    from hourbell.services import keys

    return Reply(
        status=status,
        body=new_key_json(made.stored, made.secret),
        kept=new_key_json(made.stored, None),
        headers={"ETag": keys.key_tag(made.stored)},
    )


def _database(call: Call) -> Database:
    return call.api.scheduler.database


def _key_id(call: Call) -> UUID:
    return call.path_id("key", "key")


OPERATIONS = (
    Operation(
        method="POST",
        path="/v1/keys",
        name="createKey",
        summary="Create a key; a replay of this request does not show its secret again",
        handle=create_key,
        scope="keys:write",
        status=201,
        body="KeyIn",
        reply="NewKey",
        conditional=True,
    ),
    Operation(
        method="GET",
        path="/v1/keys",
        name="listKeys",
        summary="List keys, newest first",
        handle=list_keys,
        scope="keys:write",
        reply="list of Key",
        query=PAGE,
    ),
    Operation(
        method="GET",
        path="/v1/keys/{id}",
        name="getKey",
        summary="One key",
        handle=get_key,
        scope="keys:write",
        reply="Key",
        conditional=True,
        errors=(404,),
    ),
    Operation(
        method="POST",
        path="/v1/keys/{id}/rotate",
        name="rotateKey",
        summary="Give a key a new secret; a replay of this request does not show it again",
        handle=rotate_key,
        scope="keys:write",
        body="RotateIn",
        body_optional=True,
        reply="NewKey",
        conditional=True,
        errors=(404, 409, 412),
    ),
    Operation(
        method="DELETE",
        path="/v1/keys/{id}",
        name="revokeKey",
        summary="Revoke a key",
        handle=revoke_key,
        scope="keys:write",
        status=204,
        conditional=True,
        errors=(404, 409, 412),
    ),
)
