"""What can go wrong with a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hourbell.client.replies import JsonObject


class ClientError(Exception):
    """The call did not succeed; the message is fit for a person."""


class UnreachableError(ClientError):
    """No answer came. A call that changes something may have been carried out all the same."""


class ApiError(ClientError):
    """The API refused, with problem details (RFC 9457).

    Attributes:
        status: the HTTP status.
        problem: the whole body.
    """

    def __init__(self, status: int, problem: JsonObject) -> None:
        self.status = status
        self.problem = problem
        super().__init__(self._explain())

    @property
    def kind(self) -> str:
        """The problem's name, by which problems of one status are told apart: ``lease-lost``, ``state`` …"""
        return str(self.problem.get("type", "")).rpartition(":")[2]

    @property
    def errors(self) -> list[tuple[str, str]]:
        """What is wrong with which field."""
        found = self.problem.get("errors") or []
        return [(str(error.get("field", "")), str(error.get("detail", ""))) for error in found]

    def _explain(self) -> str:
        if self.errors:
            return "; ".join(f"{field}: {detail}" for field, detail in self.errors)
        said = self.problem.get("detail") or self.problem.get("title") or self.problem.get("message")
        return str(said or f"the API answered {self.status}")
