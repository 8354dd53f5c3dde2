"""Lists of jobs: pages, newest first, whose cost has a bound whatever matches.

An index has what one filter asks for, not what several do, and not even that in the order of a page where the filter is
a word, how a name begins, or a time. And no guess of how much matches holds. So

1. what an index has in the order of ids (all jobs, those of one state or one target, one name) is read from it;
2. anything else is looked for among the newest jobs of the page, which what most jobs match fills;
3. if it does not, each filter is asked for its few: one with at most ``FEW`` jobs in all answers for the whole list;
4. if none has, a larger window is looked through, which what many jobs match fills;
5. if it does not, the page is short, perhaps empty, and says through which job it has looked: the next goes on there.

A word's few cannot be counted at little cost; what one job in 64 has of it can (``SAMPLE``).

Which completed jobs have a run that has not ended is read beforehand where such runs are few: of all days, or of those
before yesterday. What is not known is looked up job by job, in a smaller window.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, cast
from uuid import UUID

from hourbell.domain.run_state import JobState
from hourbell.store.arrays import uuid_array
from hourbell.store.connection import Connection
from hourbell.store.jobs import StoredJob, stored_jobs
from hourbell.store.sql import query

# Runs are planned at most a quarter of an hour ahead; one that is older than this has had its chances.
PLANNED_FOR = timedelta(days=1)
# Jobs that a page looks at in its order: without looking at anything else; at their places in the hot table and their
# runs of three days; at their runs of every day that is kept.
WINDOW = 25_000
LOOKUP_WINDOW = 5_000
DEEP_WINDOW = 1_000
# What every search looks at first.
NEAR_WINDOW = 1_000
FEW = 2_000
# What few jobs have, at most so many of the sampled ones have. A term takes up to some milliseconds to ask for.
SAMPLE = FEW // 64
SAMPLED_TERMS = 4

_EVER = datetime.max.replace(tzinfo=UTC)
_NEVER = datetime.min.replace(tzinfo=UTC)


class JobFilter(NamedTuple):
    """Which jobs a list shows; None leaves a condition out. ``name_pattern``: for LIKE.

    ``terms``: operands of a tsquery, which must all match.
    ``state``: as it is shown, so that a completed job with a run that has not ended is active.
    """

    state: str | None = None
    name: str | None = None
    name_pattern: str | None = None
    terms: Sequence[str] = ()
    due_before: datetime | None = None
    target_id: UUID | None = None
    target_name: str | None = None


class JobPage(NamedTuple):
    """Jobs, newest first. ``through_id``: how far was looked for them, where the page may be short; else None."""

    jobs: list[StoredJob]
    through_id: UUID | None = None


class _Unfinished(NamedTuple):
    """Jobs with a run that has not ended; from ``unknown_from`` on, others may have one too."""

    unfinished: Sequence[UUID] = ()
    unknown_from: datetime = _EVER


class _Search(NamedTuple):
    connection: Connection
    tenant_id: UUID
    only: JobFilter
    before_id: UUID | None
    limit: int
    now: datetime
    known: _Unfinished


def list_jobs(
    connection: Connection, tenant_id: UUID, only: JobFilter, *, before_id: UUID | None, limit: int, now: datetime
) -> JobPage:
    """Up to ``limit`` jobs created before ``before_id``; all there are if fewer, unless the page says otherwise."""
    if only.target_name is not None:
        row = connection.execute(query("find_target_id"), {"tenant_id": tenant_id, "name": only.target_name}).fetchone()
        if row is None:
            return JobPage([])
        only = only._replace(target_id=row[0])
    known = _find_unfinished(connection, only.state, now)
    search = _Search(connection, tenant_id, only, before_id, limit, now, known)
    page = JobPage(_read_in_order(search)) if _is_in_order(search) else _search(search)
    return page if only.state == JobState.COMPLETED else page._replace(jobs=_with_unfinished(search, page.jobs))


def _is_in_order(search: _Search) -> bool:
    only = search.only
    if only.name is not None:
        return True
    if only.name_pattern is not None or only.terms or only.due_before is not None:
        return False
    return only.state is None or (only.target_id is None and search.known.unknown_from == _EVER)


def _read_in_order(search: _Search) -> list[StoredJob]:
    only, unfinished = search.only, search.known.unfinished
    if only.name is not None or (only.state is None and only.target_id is None):
        return _list(search)
    if only.state is None:
        return _list(search, among=_ids(search, "find_jobs_of_target", target_id=only.target_id, limit=search.limit))
    # Of the completed ones those are left out, of the active ones they come to them.
    enough = search.limit + len(unfinished)
    return _list(search, among=[*_ids(search, "find_jobs_in_state", state=only.state, limit=enough), *unfinished])


def _search(search: _Search) -> JobPage:
    page = _look(search, NEAR_WINDOW)
    if page.through_id is None:
        return page
    for few in _few_of_each_filter(search):
        if few is not None:
            return JobPage(_list(search, among=few))
    return _look(search, _window(search))


def _look(search: _Search, window: int) -> JobPage:
    through_id = _find_job_before(search, window)
    found = _list(search, through_id=through_id)
    return JobPage(found, None if len(found) == search.limit else through_id)


def _window(search: _Search) -> int:
    known = search.known
    if known.unknown_from == _NEVER:
        return DEEP_WINDOW
    return WINDOW if search.only.due_before is None and known.unknown_from == _EVER else LOOKUP_WINDOW


# --- what an index has ---


def _few_of_each_filter(search: _Search) -> Iterator[Sequence[UUID] | None]:
    """Of each filter all the jobs it lets through, at least; None where these are many."""
    only = search.only
    if only.target_id is not None:
        yield _few(search, "find_jobs_of_target", target_id=only.target_id)
    if only.state is not None:
        yield _few_of_state(search, only.state)
    if only.name_pattern is not None:
        yield _few(search, "find_jobs_by_name", name_pattern=only.name_pattern)
    if only.terms:
        yield _few_of_terms(search, only.terms)
    if only.due_before is not None:
        yield _few_due(search, only.due_before)


def _few_of_state(search: _Search, state: str) -> Sequence[UUID] | None:
    if state != JobState.ACTIVE:
        return _few(search, "find_jobs_in_state", state=state)
    if search.known.unknown_from != _EVER:
        return None
    active = _few(search, "find_jobs_in_state", state=state)
    return None if active is None else [*active, *search.known.unfinished]


def _few_of_terms(search: _Search, terms: Sequence[str]) -> Sequence[UUID] | None:
    """By one term that few jobs have, or by all tags together; words together would be read whole, each for itself."""
    tags = [term for term in terms if term.endswith("'")]
    words = sorted(set(terms) - set(tags), key=len, reverse=True)
    for tried in [*([term] for term in [*tags, *words][:SAMPLED_TERMS]), tags]:
        if tried and len(_ids(search, "sample_jobs_by_terms", terms=tried, limit=SAMPLE + 1)) <= SAMPLE:
            return _few(search, "find_jobs_by_terms", terms=tried)
    return None


def _few_due(search: _Search, due_before: datetime) -> Sequence[UUID] | None:
    """Those that wait in the hot table, and all whose runs have not ended: some of these were planned ahead."""
    values = {"before": due_before, "most": FEW}
    (waiting,) = search.connection.execute(query("find_waiting_jobs"), values).fetchone() or (None,)
    if waiting is None:
        return None
    planned = _read_unfinished(search.connection, before=search.now + PLANNED_FOR)
    return None if planned is None else [*waiting, *planned]


def _few(search: _Search, statement: str, **values: object) -> Sequence[UUID] | None:
    found = _ids(search, statement, **values, limit=FEW + 1)
    return found if len(found) <= FEW else None


def _ids(search: _Search, statement: str, **values: object) -> list[UUID]:
    given = {"tenant_id": search.tenant_id, "before_id": search.before_id, **values}
    return [row[0] for row in search.connection.execute(query(statement), given).fetchall()]


def _find_job_before(search: _Search, jobs: int) -> UUID | None:
    return next(iter(_ids(search, "find_job_before", skipped=jobs - 1)), None)


# --- runs that have not ended ---


def _find_unfinished(connection: Connection, state: str | None, now: datetime) -> _Unfinished:
    """What a filter by state needs to know of them."""
    if state not in {JobState.ACTIVE, JobState.COMPLETED}:
        return _Unfinished()
    for before in (_EVER, now - PLANNED_FOR):
        found = _read_unfinished(connection, before=before)
        if found is not None:
            return _Unfinished(found, before)
    return _Unfinished((), _NEVER)


def _read_unfinished(connection: Connection, *, before: datetime) -> Sequence[UUID] | None:
    values = {"before": before, "most": FEW}
    (found,) = connection.execute(query("read_unfinished_jobs"), values).fetchone() or (None,)
    return cast("Sequence[UUID] | None", found)


def _with_unfinished(search: _Search, found: list[StoredJob]) -> list[StoredJob]:
    """Asked for separately, and only where it matters: planning a statement over every day of runs takes its time."""
    completed = [job.job_id for job in found if job.state == JobState.COMPLETED]
    if not completed:
        return found
    unfinished = set(_ids(search, "find_unfinished_jobs", job_ids=completed))
    return [job._replace(unfinished=job.job_id in unfinished) for job in found]


# --- the page ---


def _list(search: _Search, *, through_id: UUID | None = None, among: Sequence[UUID] | None = None) -> list[StoredJob]:
    """What the filters let through, down to a job or among some."""
    values: Mapping[str, Any] = {
        **search.only._asdict(),
        "terms": " & ".join(search.only.terms) or None,
        "tenant_id": search.tenant_id,
        "before_id": search.before_id,
        "through_id": through_id,
        "among": None if among is None else uuid_array(among),
        "unfinished": uuid_array(search.known.unfinished),
        "unknown_from": search.known.unknown_from,
        "planned_from": search.now - PLANNED_FOR,
        "planned_to": search.now + PLANNED_FOR,
        "limit": search.limit,
    }
    return stored_jobs(search.connection.execute(query("list_jobs"), values).fetchall())
