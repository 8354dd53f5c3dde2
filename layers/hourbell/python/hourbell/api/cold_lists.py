"""Lists that reach into the cold tier. Few requests are for it: what reads it is imported by those."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import UUID

from hourbell.api.calls import Call, Reply
from hourbell.api.cursors import Listing
from hourbell.api.job_search import has_words
from hourbell.api.strict_json import bad
from hourbell.api.views import job_json
from hourbell.domain.cold import Tier
from hourbell.domain.ids import encode, job_due_hour
from hourbell.domain.instants import format_instant, parse_instant

if TYPE_CHECKING:
    from hourbell.services.list_cold_jobs import ColdPosition
    from hourbell.services.view_jobs import Job

_HOT_ONLY = ("state", "tag", "name_prefix", "q", "target")


def list_cold_jobs(call: Call) -> Reply:
    """Hour by hour; a page may be short, or empty, and go on."""
    from hourbell.services import list_cold_jobs as service

    for filter_ in _HOT_ONLY:
        if call.query.get(filter_):
            raise bad(filter_, "does not go with tier=cold: cold jobs are found by id, by name, or by due_before")
    name, limit = call.one("name"), call.limit()
    due_before = call.one("due_before")
    before = None if due_before is None else parse_instant(due_before, field="due_before")
    filters = {"due_before": None if before is None else format_instant(before), "name": name}
    listing = Listing(name="cold-jobs", tenant_id=call.tenant_id, filters=filters)
    position = call.position(listing)
    if name is not None:
        found = service.find_cold_job_by_name(call.api.scheduler, call.tenant_id, name, now=call.now)
        fits = found is not None and (before is None or found.next_runs[0] < before)
        return _page(call, listing, [found] if found is not None and fits else [], limit, None)
    page = service.list_cold_jobs(
        call.api.scheduler,
        call.tenant_id,
        due_before=before,
        position=None if position is None else _read(position),
        limit=limit,
        now=call.now,
    )
    return _page(call, listing, page.jobs, limit, page.then)


def find_by_name(call: Call, name: str, filters: dict[str, Any]) -> list[Job]:
    """The cold job of this name, if the other filters of the list let it through."""
    from hourbell.services import list_cold_jobs as service

    found = service.find_cold_job_by_name(call.api.scheduler, call.tenant_id, name, now=call.now)
    return [found] if found is not None and _fits(found, filters) else []


def _fits(job: Job, filters: dict[str, Any]) -> bool:
    stored, tags, target = job.stored, json.loads(job.stored.tags), filters["target"]
    before = filters["due_before"]
    return (
        filters["state"] in (None, job.state)
        and all(tags.get(name) == value for name, _, value in (pair.partition(":") for pair in filters["tag"]))
        and (stored.name or "").startswith(filters["name_prefix"] or "")
        and (filters["q"] is None or has_words(filters["q"], " ".join((stored.name or "", *tags.values()))))
        and (before is None or job.next_runs[0] < parse_instant(before, field="due_before"))
        and target in (None, stored.target_name, encode("tgt", stored.target_id))
    )


def _page(call: Call, listing: Listing, jobs: Any, limit: int, then: ColdPosition | None) -> Reply:
    after: list[int | str] | None = (
        None if then is None else [then.due_hour, "" if then.after_id is None else then.after_id.hex]
    )
    return call.page(
        listing,
        jobs,
        limit=limit,
        encode=job_json,
        position=lambda job: [job_due_hour(job.stored.job_id), job.stored.job_id.hex],
        then=after,
    )


def _read(position: list[int | str]) -> ColdPosition:
    from hourbell.services.list_cold_jobs import ColdPosition

    due_hour, after_id = position
    return ColdPosition(due_hour=int(due_hour), after_id=UUID(hex=str(after_id)) if after_id else None)


TIERS = tuple(tier.value for tier in Tier)
