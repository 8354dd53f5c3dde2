"""When a call is sent again: after no answer, 429, 503, or while it is under way. A few times, with growing waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from hourbell.client.errors import ApiError, UnreachableError

if TYPE_CHECKING:
    import httpx

    from hourbell.client.replies import JsonObject
    from hourbell.client.requests import Request

Outcome: TypeAlias = "httpx.Response | httpx.TransportError"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """At most so many ``attempts``, the first included.

    The wait before the second attempt is random and up to ``initial_seconds``, before each further one up to double.
    A longer ``Retry-After`` is waited for; one beyond ``maximum_seconds`` is not, and the call fails at once.
    """

    attempts: int = 4
    initial_seconds: float = 0.5
    maximum_seconds: float = 30

    def wait_seconds(self, attempt: int, *, asked: float | None, random: float) -> float | None:
        """How long to wait after this attempt (from 1); None: give up. ``random`` is in [0, 1)."""
        if attempt >= self.attempts or (asked is not None and asked > self.maximum_seconds):
            return None
        longest = min(self.initial_seconds * 2.0 ** (attempt - 1), self.maximum_seconds)
        return max(longest * random, asked or 0.0)


@dataclass(slots=True)
class Attempts:
    """The attempts of one call."""

    request: Request[Any]
    retries: Retries
    url: str
    random: Callable[[], float]
    made: int = 0

    def has_succeeded(self, outcome: httpx.Response) -> bool:
        """A deletion that finds nothing when it is repeated was done the time before."""
        return outcome.is_success or (outcome.status_code == 404 and self.made > 0 and self.request.method == "DELETE")

    def wait_seconds(self, outcome: Outcome) -> float:
        """How long to wait before the call is sent again.

        Raises:
            ApiError: the API refused, and would do so again.
            UnreachableError: there was no answer, and there will be none.
        """
        self.made += 1
        wait = None
        if may_repeat(self.request, outcome):
            wait = self.retries.wait_seconds(self.made, asked=_retry_after(outcome), random=self.random())
        if wait is None:
            raise self._error(outcome)
        return wait

    def _error(self, outcome: Outcome) -> ApiError | UnreachableError:
        if isinstance(outcome, Exception):
            error = UnreachableError(f"No answer from {self.url}: {outcome}")
            error.__cause__ = outcome
            return error
        return ApiError(outcome.status_code, _problem(outcome))


def may_repeat(request: Request[Any], outcome: Outcome) -> bool:
    """What was not carried out may always be repeated; what may have been, only where that changes nothing."""
    if isinstance(outcome, Exception):
        return request.repeatable or _was_not_sent(outcome)
    match outcome.status_code:
        case 429:
            return True
        case 409:  # the same call is being carried out at this moment
            return "retry-after" in outcome.headers
        case 503:
            return request.repeatable
        case _:
            return False


def _was_not_sent(error: httpx.TransportError) -> bool:
    import httpx

    return isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)


def _retry_after(outcome: Outcome) -> float | None:
    """Seconds, or a date (RFC 9110, section 10.2.3) measured against the answer's own; None where it says neither."""
    if isinstance(outcome, Exception):
        return None
    said = outcome.headers.get("retry-after", "").strip()
    if said.isdecimal():
        return float(said)
    until, now = _http_date(said), _http_date(outcome.headers.get("date", ""))
    if until is None or now is None:
        return None
    return max((until - now).total_seconds(), 0.0)


def _http_date(text: str) -> datetime | None:
    from email.utils import parsedate_to_datetime

    try:
        found = parsedate_to_datetime(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _problem(response: httpx.Response) -> JsonObject:
    try:
        body = response.json()
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {"detail": f"the API answered {response.status_code}"}
