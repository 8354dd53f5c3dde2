"""The operations of targets."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from hourbell.api import strict_json
from hourbell.api.calls import Call, Reply
from hourbell.api.cursors import Listing
from hourbell.api.operations import PAGE, Operation, Query
from hourbell.api.views import encode_json, etag, target_json, target_mapping
from hourbell.domain.target_kind import TargetKind
from hourbell.services import targets
from hourbell.services.errors import StateError
from hourbell.services.targets import TargetDefinition, TargetState
from hourbell.store.connection import Database
from hourbell.store.targets import StoredTarget
from hourbell.targets.signature import format_secret, signing_key

_SHOWN_STATES = tuple(state.value for state in TargetState if state is not TargetState.DELETED)


def create_target(call: Call) -> Reply:
    """Where it leads is checked here, and again at every call."""
    definition = _definition(call, call.json_object()[1])
    return _reply(targets.create_target(_database(call), call.tenant_id, definition, now=call.now), status=201)


def list_targets(call: Call) -> Reply:
    """Newest first; those that jobs spell out themselves are not listed."""
    filters: dict[str, Any] = {"name": call.one("name"), "state": call.choice("state", _SHOWN_STATES)}
    listing = Listing(name="targets", tenant_id=call.tenant_id, filters=filters)
    position, limit = call.position(listing), call.limit()
    found = targets.list_targets(
        _database(call),
        call.tenant_id,
        **filters,
        before_id=None if position is None else UUID(hex=str(position[0])),
        limit=limit + 1,
    )
    return call.page(listing, found, limit=limit, encode=target_json, position=lambda target: [target.target_id.hex])


def get_target(call: Call) -> Reply:
    """A deleted target is gone."""
    return _reply(targets.get_target(_database(call), call.tenant_id, _target_id(call)))


def edit_target(call: Call) -> Reply:
    """Merges (RFC 7396) the body into the target, and checks the whole as if it were created."""
    patch = call.json_object()[1]

    def revise(stored: StoredTarget) -> TargetDefinition:
        return _definition(call, strict_json.merge_values(target_mapping(stored), patch))

    return _reply(
        targets.edit_target(
            _database(call),
            call.api.scheduler.lanes,
            call.tenant_id,
            _target_id(call),
            revise,
            expected=call.expected(),
            now=call.now,
        )
    )


def delete_target(call: Call) -> Reply:
    """Not while jobs use it."""
    targets.delete_target(_database(call), call.tenant_id, _target_id(call), expected=call.expected(), now=call.now)
    return Reply(status=204)


def get_signing_secret(call: Call) -> Reply:
    """Nothing of it is stored: a target without a secret of its own signs with a key derived from the stage's."""
    target_id = call.path_id("tgt", "target")
    stored = targets.get_target(call.api.scheduler.database, call.tenant_id, target_id)
    if stored.kind != TargetKind.HTTP:
        raise StateError("what calls a target in AWS is known to AWS; only HTTP calls are signed")
    own = json.loads(stored.config).get("secret")
    derived = None if own else format_secret(signing_key(call.api.stage_key(), target_id))
    return Reply(body=encode_json({"signing_secret": derived, "secret": own}))


def pause_target(call: Call) -> Reply:
    """Runs wait until it is resumed."""
    return _set_state(call, TargetState.PAUSED)


def resume_target(call: Call) -> Reply:
    """Runs that waited go on."""
    return _set_state(call, TargetState.ACTIVE)


def _set_state(call: Call, state: TargetState) -> Reply:
    from hourbell.api import models

    models.validated(models.EmptyIn, call.json_object(optional=True)[1])
    return _reply(
        targets.set_target_state(
            _database(call),
            call.api.scheduler.lanes,
            call.tenant_id,
            _target_id(call),
            state,
            expected=call.expected(),
            now=call.now,
        )
    )


def _definition(call: Call, value: dict[str, Any]) -> TargetDefinition:
    from hourbell.api import models

    model = models.validated(models.TargetIn, value)
    return models.target_definition(model, check_target=call.check_target)


def _reply(stored: StoredTarget, *, status: int = 200) -> Reply:
    return Reply(status=status, body=target_json(stored), headers={"ETag": etag(stored.version)})


def _database(call: Call) -> Database:
    return call.api.scheduler.database


def _target_id(call: Call) -> UUID:
    return call.path_id("tgt", "target")


OPERATIONS = (
    Operation(
        method="POST",
        path="/v1/targets",
        name="createTarget",
        summary="Create a target",
        handle=create_target,
        scope="targets:write",
        status=201,
        body="TargetIn",
        reply="Target",
        conditional=True,
        errors=(409,),
    ),
    Operation(
        method="GET",
        path="/v1/targets",
        name="listTargets",
        summary="List named targets, newest first",
        handle=list_targets,
        scope="jobs:read",
        reply="list of Target",
        query=(
            Query(name="name", description="exactly this name"),
            Query(name="state", description="", schema={"type": "string", "enum": list(_SHOWN_STATES)}),
            *PAGE,
        ),
    ),
    Operation(
        method="GET",
        path="/v1/targets/{id}",
        name="getTarget",
        summary="One target",
        handle=get_target,
        scope="jobs:read",
        reply="Target",
        conditional=True,
        errors=(404,),
    ),
    Operation(
        method="PATCH",
        path="/v1/targets/{id}",
        name="editTarget",
        summary="Edit a target: a JSON merge patch (RFC 7396) of the shape that creates it",
        handle=edit_target,
        scope="targets:write",
        body="TargetIn",
        reply="Target",
        conditional=True,
        errors=(404, 409, 412),
    ),
    Operation(
        method="DELETE",
        path="/v1/targets/{id}",
        name="deleteTarget",
        summary="Delete a target that no job needs",
        handle=delete_target,
        scope="targets:write",
        status=204,
        conditional=True,
        errors=(404, 409, 412),
    ),
    Operation(
        method="GET",
        path="/v1/targets/{id}/signing-secret",
        name="getSigningSecret",
        summary="What the owner of a target verifies its calls with",
        handle=get_signing_secret,
        scope="targets:write",
        reply="SigningSecret",
        errors=(404, 409),
    ),
    Operation(
        method="POST",
        path="/v1/targets/{id}/pause",
        name="pauseTarget",
        summary="Pause a target: its runs wait",
        handle=pause_target,
        scope="targets:write",
        body="EmptyIn",
        body_optional=True,
        reply="Target",
        conditional=True,
        errors=(404, 412),
    ),
    Operation(
        method="POST",
        path="/v1/targets/{id}/resume",
        name="resumeTarget",
        summary="Resume a paused target",
        handle=resume_target,
        scope="targets:write",
        body="EmptyIn",
        body_optional=True,
        reply="Target",
        conditional=True,
        errors=(404, 412),
    ),
)
