"""Which Hourbell a command talks to: what the environment names, else the login, else the local cloud."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hourbell.cli.login import stored_login
from hourbell.client import Client, ClientError
from hourbell.local.errors import LocalCloudError
from hourbell.local.project import Project, StateDirectory

if TYPE_CHECKING:
    from hourbell.local.state import CloudRecord


def connect() -> Client:
    """A client for this command.

    Raises:
        ClientError: neither ``HOURBELL_URL``, a login nor a running local cloud says where.
    """
    url, api_key = os.environ.get("HOURBELL_URL"), os.environ.get("HOURBELL_API_KEY")
    if url and api_key:
        return Client(url, api_key)
    if url or api_key:
        missing = "HOURBELL_API_KEY" if url else "HOURBELL_URL"
        raise ClientError(f"{missing} is not set: HOURBELL_URL and HOURBELL_API_KEY go together.")
    login = stored_login()
    if login is not None:
        return Client(login.url, login.api_key)
    record = local_cloud()
    if record is None or record.url is None or record.api_key is None:
        raise ClientError(
            "Which Hourbell? Set HOURBELL_URL and HOURBELL_API_KEY, use hourbell login, or start a local cloud: make up"
        )
    return Client(record.url, record.api_key)


def local_cloud() -> CloudRecord | None:
    """The local cloud of this checkout, if it runs."""
    from hourbell.local.state import CloudRecord

    try:
        record = CloudRecord.read(StateDirectory.of(Project.find()))
    except LocalCloudError:
        return None
    return record if record is not None and record.is_up else None
