"""One request, as the operations see it, and their replies."""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import parse_qsl
from uuid import UUID

from hourbell.api import strict_json
from hourbell.api.cursors import Cursors, Listing
from hourbell.api.problems import AuthenticationError, TooLargeError
from hourbell.api.strict_json import bad, is_clean_text
from hourbell.domain.ids import IdError, Prefix, decode
from hourbell.domain.limits import LAMBDA_MAX_RESPONSE_BYTES, LEASE
from hourbell.domain.target_kind import TargetKind
from hourbell.lanes.sqs import Lanes
from hourbell.services.authenticate import Principal
from hourbell.services.errors import NotFoundError
from hourbell.services.jobs import Scheduler
from hourbell.services.tiers import find_in_cold
from hourbell.store.connection import Database
from hourbell.targets.registry import check_config

if TYPE_CHECKING:
    from hourbell.cold.record import ColdJob
    from hourbell.targets.rules import TargetRules

MAX_BODY_BYTES = 1_048_576
# Lambda takes 6 MB, and the body is a string in that: quotes and line ends count twice.
MAX_BATCH_BODY_BYTES = 4_194_304
MAX_QUERY_FIELDS = 50
DEFAULT_LIMIT, MAX_LIMIT = 50, 200
# A page of large payloads ends early and goes on behind its cursor: Lambda answers at most this much. The reply is a
# string in its answer, so quotes and letters beyond ASCII count as they are escaped there.
MAX_PAGE_BYTES = LAMBDA_MAX_RESPONSE_BYTES - 1_048_576

T = TypeVar("T")

Scope = Literal["jobs:read", "jobs:write", "runs:write", "targets:write", "keys:write", "admin", "operator"]


@dataclass(frozen=True, kw_only=True)
class Api:
    """What all operations work with; what only some of them need is asked when they do.

    ``stage_key``: the stage's signing secret. ``target_rules``: what the stage lets targets be. ``lease``: how long
    whoever executes a run may be silent. ``pause``: waits so many seconds. ``count``: takes metrics.
    """

    scheduler: Scheduler
    stage_key: Callable[[], bytes]
    target_rules: Callable[[], TargetRules]
    lease: timedelta = LEASE
    pause: Callable[[float], None] = time.sleep
    count: Callable[[Mapping[str, float]], None] = lambda _metrics: None

    @cached_property
    def cursors(self) -> Cursors:
        """Issues and reads page cursors."""
        return Cursors(self.stage_key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A reply; ``body`` is the text as it goes out. ``kept``: what may be stored of it, if not all."""

    status: int = 200
    body: str = ""
    kept: str | None = None
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request. ``path``: its variables; ``query``: checked text by name; ``raw_body``: as the gateway gave it.

    ``cold_job``: where the id in the path leads to, if that is a cold job.
    """

    api: Api
    caller: Principal | None
    now: datetime
    path: Mapping[str, str]
    query: Mapping[str, Sequence[str]]
    headers: Mapping[str, str]
    raw_body: str
    is_base64: bool
    cold_job: ColdJob | None = None

    @property
    def principal(self) -> Principal:
        """The caller; every operation but the open ones has one."""
        if self.caller is None:
            raise AuthenticationError("no caller")
        return self.caller

    @property
    def tenant_id(self) -> UUID:
        """The caller's tenant."""
        return self.principal.tenant_id

    def through(self, *, database: Database, lanes: Lanes | None = None) -> Call:
        """The same request, to be answered through this database, and these lanes."""
        scheduler = self.api.scheduler
        there = replace(scheduler, database=database, lanes=scheduler.lanes if lanes is None else lanes)
        return replace(self, api=replace(self.api, scheduler=there))

    def addressed(self, database: Database) -> Call:
        """The same request, with the cold job that the id in its path leads to. Reads S3: outside of any transaction.

        Raises:
            NotFoundError: it is no job id. ColdUnavailableError, SegmentError: the record cannot be read.
        """
        job_id = self.path_id("job", "job")
        cold_job = find_in_cold(database, self.api.scheduler.cold, self.tenant_id, job_id)
        return replace(self, cold_job=cold_job)

    def check_target(self, kind: TargetKind, config: Mapping[str, Any]) -> dict[str, Any]:
        """What is stored of a target's config, if the stage lets this tenant have it.

        Raises:
            FieldError, FieldErrors: by the names of the members.
        """
        return check_config(kind, config, rules=self.api.target_rules(), tenant_id=self.tenant_id)

    def path_id(self, prefix: Prefix, kind: str) -> UUID:
        """The id in the path; one that cannot be is one that is not there."""
        try:
            return decode(prefix, self.path["id"])
        except IdError:
            raise NotFoundError(kind) from None

    def expected_tags(self) -> frozenset[str] | None:
        """The ETags that ``If-Match`` accepts, quotes included; None: any, as long as there is one."""
        header = self.headers.get("if-match")
        if header is None or header.strip() == "*":
            return None
        return frozenset(tag.strip() for tag in header.split(","))

    def expected(self) -> frozenset[int] | None:
        """The versions that ``If-Match`` accepts; None: any, as long as there is one."""
        tags = self.expected_tags()
        return None if tags is None else frozenset(int(tag[1:-1]) for tag in tags if _is_version_tag(tag))

    def body_text(self, limit: int = MAX_BODY_BYTES) -> str:
        """The body as text, decoded strictly.

        Raises:
            FieldErrors: missing, compressed, or no UTF-8. TooLargeError.
        """
        if self.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise bad("Content-Encoding", "a body is read as it is: send it without compression")
        text = self.raw_body
        if self.is_base64:
            try:
                text = base64.b64decode(text, validate=True).decode()
            except (binascii.Error, UnicodeDecodeError):
                raise bad("body", "is not UTF-8") from None
        if len(text) > limit or len(text.encode("utf-8", "surrogatepass")) > limit:
            raise TooLargeError(f"the body has more than {limit} bytes")
        if not text.strip():
            raise bad("body", "is required: a JSON object")
        if text.startswith("\ufeff"):
            raise bad("body", "begins with a byte order mark")
        return text

    def json_object(self, *, optional: bool = False, limit: int = MAX_BODY_BYTES) -> tuple[str, dict[str, Any]]:
        """The body's text and value. ``optional``: a missing body is an empty object."""
        if optional and not self.raw_body:
            return "{}", {}
        text = self.body_text(limit)
        value = strict_json.parse(text)
        if not isinstance(value, dict):
            raise bad("body", "must be a JSON object")
        return text, value

    # --- query ---

    def one(self, name: str) -> str | None:
        """A query parameter that may be given once."""
        values = self.query.get(name, ())
        if len(values) > 1:
            raise bad(name, "is given more than once")
        return values[0] if values else None

    def choice(self, name: str, choices: Sequence[str]) -> str | None:
        """A query parameter with these values only."""
        value = self.one(name)
        if value is not None and value not in choices:
            raise bad(name, f"must be one of {', '.join(choices)}")
        return value

    def number(self, name: str, default: int, *, maximum: int) -> int:
        """A whole number from 1."""
        text = self.one(name)
        if text is None:
            return default
        value = int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else 0
        if not 1 <= value <= maximum:
            raise bad(name, f"must be a whole number from 1 to {maximum}")
        return value

    def limit(self) -> int:
        """``?limit=``."""
        return self.number("limit", DEFAULT_LIMIT, maximum=MAX_LIMIT)

    def position(self, listing: Listing) -> list[int | str] | None:
        """Where ``?cursor=`` says to go on; None at the beginning."""
        text = self.one("cursor")
        return None if text is None else self.api.cursors.read(listing, text, now=self.now)

    def page(
        self,
        listing: Listing,
        items: Sequence[T],
        *,
        limit: int,
        encode: Callable[[T], str],
        position: Callable[[T], Sequence[int | str]],
        then: Sequence[int | str] | None = None,
    ) -> Reply:
        """The page of up to ``limit`` items; ``items`` holds one more when there is a next page.

        ``then``: where it goes on after all of them, for lists that have to look further without having an item.
        """
        texts: list[str] = []
        size = 0
        for item in items[:limit]:
            text = encode(item)
            size += len(json.dumps(text))
            if texts and size > MAX_PAGE_BYTES:
                break
            texts.append(text)
        cursor = "null"
        if len(texts) < len(items):
            then = position(items[len(texts) - 1])
        if then is not None:
            cursor = strict_json.dump(self.api.cursors.issue(listing, then, now=self.now))
        return Reply(body=f'{{"items":[{",".join(texts)}],"next_cursor":{cursor}}}')


def read_query(raw: str) -> dict[str, list[str]]:
    """The query string as checked text by name.

    Raises:
        FieldErrors: too many parameters, not UTF-8, U+0000.
    """
    try:
        pairs = parse_qsl(raw, keep_blank_values=True, errors="strict", max_num_fields=MAX_QUERY_FIELDS)
    except UnicodeDecodeError:
        raise bad("query", "is not UTF-8") from None
    except ValueError:
        raise bad("query", f"has more than {MAX_QUERY_FIELDS} parameters") from None
    query: dict[str, list[str]] = {}
    for name, value in pairs:
        if not is_clean_text(name) or not is_clean_text(value):
            raise bad(name, "holds U+0000 or a lone surrogate")
        query.setdefault(name, []).append(value)
    return query


def _is_version_tag(tag: str) -> bool:
    return len(tag) >= 3 and tag[0] == tag[-1] == '"' and tag[1:-1].isascii() and tag[1:-1].isdigit() and len(tag) < 14
