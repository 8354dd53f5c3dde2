"""The operation that calls a target once, outside any job: a worker makes the call, the API waits for the result."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from hourbell.api import strict_json
from hourbell.api.calls import Call, Reply
from hourbell.api.operations import Operation
from hourbell.api.views import encode_json
from hourbell.domain.ids import decode, encode

if TYPE_CHECKING:
    from hourbell.store.target_tests import StoredTest

_PAYLOAD = '{"test":true}'


def test_target(call: Call) -> Reply:
    """Also for a paused target."""
    from hourbell.api import models
    from hourbell.services.ask_target_test import ask_target_test

    text, value = call.json_object(optional=True)
    models.validated(models.TargetTestIn, value)
    payload = strict_json.members(text).get("payload", _PAYLOAD)
    test_id = ask_target_test(
        call.api.scheduler.database,
        call.api.scheduler.lanes,
        call.tenant_id,
        call.path_id("tgt", "target"),
        payload=models.check_payload(strict_json.compact(payload)),
        now=call.now,
    )
    return Reply(body=_shown(test_id, None))


def await_result(call: Call, reply: Reply) -> Reply:
    """The answer with the result, if there is one in time; a repeated request is given it too."""
    from hourbell.services.ask_target_test import await_target_test

    test_id = decode("run", json.loads(reply.body)["id"])
    found = await_target_test(call.api.scheduler.database, call.tenant_id, test_id, pause=call.api.pause)
    return replace(reply, body=_shown(test_id, found))


def _shown(test_id: UUID, test: StoredTest | None) -> str:
    finished = test if test is not None and test.is_finished else None
    return encode_json(
        {
            "id": encode("run", test_id),
            "state": "pending" if finished is None else "finished",
            "outcome": finished and finished.outcome,
            "status_code": finished and finished.status_code,
            "duration_ms": finished and finished.duration_ms,
            "error": finished and finished.error,
            "sent": finished and finished.sent,
        }
    )


OPERATIONS = (
    Operation(
        method="POST",
        path="/v1/targets/{id}/test",
        name="testTarget",
        summary="Call a target once, outside any job, and wait for what comes of it",
        handle=test_target,
        follow=await_result,
        scope="targets:write",
        body="TargetTestIn",
        body_optional=True,
        reply="TargetTest",
        errors=(404, 409),
    ),
)
