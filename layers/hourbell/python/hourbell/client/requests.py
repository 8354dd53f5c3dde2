"""A call as a value: what is sent, and how its reply is read. How it is sent is the client's matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeAlias, TypeVar
from urllib.parse import quote

from hourbell.client.errors import ClientError

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

Method: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Instant: TypeAlias = str | datetime


def read_json(response: httpx.Response) -> Any:
    """The reply's JSON.

    Raises:
        ClientError: it has none, so that no Hourbell sent it.
    """
    try:
        return response.json()
    except ValueError as error:
        address = f"{response.request.url.scheme}://{response.request.url.netloc.decode()}"
        raise ClientError(f"{address} answered something that is not JSON: is it a Hourbell API?") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Generic[T]):
    """One call. ``path`` as OpenAPI writes it, with its ``variables`` beside it; None in ``query`` is left out.

    ``if_version``: carried out only if the resource still has this version.
    """

    method: Method
    path: str
    variables: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, object] = field(default_factory=dict)
    body: object = None
    if_version: int | None = None
    read: Callable[[httpx.Response], T] = read_json

    @property
    def repeatable(self) -> bool:
        """Whether it may be sent again when nobody knows whether it was carried out.

        Every POST carries an ``Idempotency-Key``, and the other methods come to the same when they are done twice; but
        what asks for a version has changed it itself.
        """
        return self.method == "POST" or self.if_version is None

    @property
    def target(self) -> str:
        """The path with its variables filled in."""
        return self.path.format_map({name: quote(value, safe="") for name, value in self.variables.items()})

    @property
    def parameters(self) -> dict[str, str | list[str]]:
        """The query as text; a list is a parameter given several times."""
        given = {name: value for name, value in self.query.items() if value is not None}
        return {
            name: [text(item) for item in value] if isinstance(value, list | tuple) else text(value)
            for name, value in given.items()
        }

    def from_cursor(self, cursor: str) -> Self:
        """The same, for the page behind this cursor."""
        return replace(self, query={**self.query, "cursor": cursor})


def text(value: object) -> str:
    """A value as the API takes it; times with their offset.

    Raises:
        ValueError: a time that has none.
    """
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value.isoformat()} says nothing of its zone")
        return value.isoformat()
    return str(value).lower() if isinstance(value, bool) else str(value)


def nothing(_response: httpx.Response) -> None:
    """The reply has no content."""


def present(**members: object) -> dict[str, object]:
    """The members that were given; times as the API takes them."""
    given = {name: value for name, value in members.items() if value is not None}
    return {name: text(value) if isinstance(value, datetime) else value for name, value in given.items()}
