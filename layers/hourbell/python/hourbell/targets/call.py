"""One attempt as the target kinds see it, and the three ways in which it tells a target about itself.

HTTP has headers and queues have message attributes, so there the body is the payload to the letter. Functions, events
and executions have nothing beside their JSON: there the payload gets one more member, ``hourbell``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from hourbell.domain.ids import encode
from hourbell.domain.instants import format_instant

MEMBER = "hourbell"
PAYLOAD_MEMBER = "payload"

ERROR_MAX_CHARACTERS = 500

# Two letters that JSON may hold as they are and messages of SQS and SNS may not (W3C XML 1.0, 2.2).
_NO_MESSAGE_LETTERS = {0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetCall:
    """An attempt to be made. ``config``: what the kind's ``check`` answered; ``payload``, ``progress``: JSON text.

    ``is_test``: a call that somebody asked for to see whether the target answers; the ids are of nothing else.
    """

    config: Mapping[str, Any]
    payload: str
    timeout: timedelta
    target_id: UUID
    run_id: UUID
    job_id: UUID
    scheduled_for: datetime
    attempt: int
    lease_token: UUID
    progress: str | None = None
    is_test: bool = False


def message_body(call: TargetCall) -> str:
    """The payload as a message: the same JSON, in letters that queues take."""
    return call.payload.translate(_NO_MESSAGE_LETTERS)


def message_attributes(call: TargetCall) -> dict[str, dict[str, str]]:
    """What SQS and SNS carry beside a message; named as the headers of an HTTP call."""
    attributes = {
        "Hourbell-Run": _text(encode("run", call.run_id)),
        "Hourbell-Attempt": {"DataType": "Number", "StringValue": str(call.attempt)},
        "Hourbell-Job": _text(encode("job", call.job_id)),
        "Hourbell-Scheduled-For": _text(format_instant(call.scheduled_for)),
        "Hourbell-Lease-Token": _text(str(call.lease_token)),
    }
    if call.progress is not None:
        attributes["Hourbell-Progress"] = _text(call.progress.translate(_NO_MESSAGE_LETTERS))
    if call.is_test:
        attributes["Hourbell-Test"] = _text("true")
    return attributes


def document(call: TargetCall) -> str:
    """The payload's object with the member ``hourbell``; any other payload (but null) becomes the member ``payload``.

    The payload's own spelling is kept. A member ``hourbell`` of its own gives way.
    """
    own = f"{json.dumps(MEMBER)}:{json.dumps(_about(call), separators=(',', ':'))}"
    payload = json.loads(call.payload)
    if payload is None:
        return f"{{{own}}}"
    if not isinstance(payload, dict):
        return f"{{{json.dumps(PAYLOAD_MEMBER)}:{call.payload},{own}}}"
    text = call.payload
    if MEMBER in payload:
        del payload[MEMBER]
        text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return f"{text.rstrip()[:-1]},{own}}}" if payload else f"{{{own}}}"


def clean_error(text: str) -> str:
    """Error text as Postgres takes it (no NUL, no lone surrogate) and a person reads it (bounded)."""
    return text.replace("\0", "\\0").encode(errors="backslashreplace").decode()[:ERROR_MAX_CHARACTERS]


def _about(call: TargetCall) -> dict[str, Any]:
    about: dict[str, Any] = {
        "run_id": encode("run", call.run_id),
        "attempt": call.attempt,
        "job_id": encode("job", call.job_id),
        "scheduled_for": format_instant(call.scheduled_for),
        "lease_token": str(call.lease_token),
    }
    if call.progress is not None:
        about["progress"] = json.loads(call.progress)
    if call.is_test:
        about["test"] = True
    return about


def _text(value: str) -> dict[str, str]:
    return {"DataType": "String", "StringValue": value}
