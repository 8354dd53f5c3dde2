"""What declaring a job would do about the one that has its name, as the API plans it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from hourbell.client import ApiError, Client

_ABOUT_THE_JOB = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.CONFLICT, HTTPStatus.REQUEST_ENTITY_TOO_LARGE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """``action``: create, update (``changes``: these members), unchanged; or refused, with the API's ``reason``."""

    action: str
    changes: tuple[str, ...] = ()
    reason: str | None = None


def compare(client: Client, name: str, definition: Mapping[str, Any]) -> Comparison:
    """Nothing is changed by it.

    Raises:
        ClientError: the API cannot be asked, or says nothing about the job.
    """
    try:
        found = client.plan_job(name, definition)
    except ApiError as error:
        if error.status not in _ABOUT_THE_JOB:
            raise
        return Comparison(action="refused", reason=str(error))
    return Comparison(action=found["action"], changes=tuple(found["changes"]))
