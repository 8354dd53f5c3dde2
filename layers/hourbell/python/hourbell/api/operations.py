"""An operation of the API: what is routed, guarded and documented all comes from this one description."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hourbell.api.calls import DEFAULT_LIMIT, MAX_LIMIT, Call, Reply, Scope

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query parameter; the operation itself reads and checks it. One that is not listed is refused."""

    name: str
    description: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    explode: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """``path`` with variables as OpenAPI writes them; ``scope``: what the key must have, None where no key is needed.

    ``body``: the name of a model in ``api.models``. ``reply``: that of one in ``api.schemas``, ``list of <name>`` for a
    page of them, ``<name> or <name>`` for either, None for no content.
    ``may_create``: answers 201 where it made something.
    ``follow``: completes the answer once the request is carried out, in no transaction; also that of a repeated one.
    ``waits``: it looks again and again, in a transaction each, and can be no single one.
    ``addresses_job``: its ``{id}`` is a job's, which may be in the cold tier.
    ``conditional``: a single resource, so it honours ``If-Match`` when it writes and sends an ``ETag``.
    """

    method: Method
    path: str
    name: str
    summary: str
    handle: Callable[[Call], Reply]
    scope: Scope | None
    status: int = 200
    body: str | None = None
    body_optional: bool = False
    reply: str | None = None
    query: tuple[Query, ...] = ()
    may_create: bool = False
    addresses_job: bool = False
    conditional: bool = False
    errors: tuple[int, ...] = ()
    content_type: str = "application/json"
    waits: bool = False
    follow: Callable[[Call, Reply], Reply] | None = None

    @property
    def acts(self) -> bool:
        """Whether a second request does it a second time: such an operation honours ``Idempotency-Key``."""
        return self.method == "POST" and not self.waits and self.scope not in (None, "jobs:read")


PAGE = (
    Query(
        name="limit",
        description=f"items a page, {DEFAULT_LIMIT} by default; a page may hold fewer",
        schema={"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
    ),
    Query(name="cursor", description="`next_cursor` of the page before; good for a day, and for the same filters only"),
)
