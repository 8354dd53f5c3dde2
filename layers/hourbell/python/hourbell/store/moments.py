"""When there is something to do next, for those who let time pass by hand."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from hourbell.store.connection import Connection
from hourbell.store.sql import query


def next_moment(connection: Connection, *, after: datetime) -> datetime | None:
    """The next instant at which a job is due or a run must be looked at; None: there is none."""
    (moment,) = connection.execute(query("next_moment"), {"after": after}).fetchone() or (None,)
    return cast("datetime | None", moment)
