"""A method of both clients from one description: calling it waits in ``Client``, and is awaited in ``AsyncClient``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

if TYPE_CHECKING:
    from hourbell.client.clients import AsyncClient, Client
    from hourbell.client.replies import Page
    from hourbell.client.requests import Request

P = ParamSpec("P")
T = TypeVar("T")


class Operation(Generic[P, T]):
    """Describes a call by its arguments; bound to a client, carries it out."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Request[T]]) -> None:
        self.describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Client, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type) -> Any:
        if client is None:
            return self

        def call(*arguments: P.args, **named: P.kwargs) -> T | Coroutine[Any, Any, T]:
            return client.call(self.describe(client, *arguments, **named))

        return update_wrapper(call, self.describe)


class Listing(Generic[P, T]):
    """Everything that an operation lists, by the same arguments; bound to a client, an iterator over all pages."""

    def __init__(self, operation: Operation[P, Page[T]], doc: str) -> None:
        self.operation = operation
        self.__doc__ = doc

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Client, owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type) -> Any:
        if client is None:
            return self

        def iterate(*arguments: P.args, **named: P.kwargs) -> Iterator[T] | AsyncIterator[T]:
            return client.pages(self.operation.describe(client, *arguments, **named))

        update_wrapper(iterate, self.operation.describe, assigned=())
        iterate.__doc__ = self.__doc__
        return iterate


def operation(describe: Callable[Concatenate[Any, P], Request[T]]) -> Operation[P, T]:
    """Turn a method that describes a call into one that carries it out."""
    return Operation(describe)


def all_of(listing: Operation[P, Page[T]], doc: str) -> Listing[P, T]:
    """The iterator that belongs to a list."""
    return Listing(listing, doc)
