"""How long work tells that it goes on. What shows it (a terminal, a log, nothing) is the caller's choice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Progress(Protocol):
    """Somebody who watches."""

    def step(self, name: str) -> AbstractContextManager[None]:
        """Something that takes a while goes on inside the context."""
        ...

    def detail(self, text: str) -> None:
        """A sign of life from the step that goes on."""
        ...


class Silence:
    """Nobody watches."""

    @contextmanager
    def step(self, name: str) -> Iterator[None]:  # noqa: ARG002
        """Say nothing."""
        yield

    def detail(self, text: str) -> None:
        """Say nothing."""
