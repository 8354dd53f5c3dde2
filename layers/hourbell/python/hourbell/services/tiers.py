"""The two tiers as the use cases of jobs see them: which one a new job is born into, and the way from cold to hot.

A use case that changes a job is given the cold job that its address led to (``find_in_cold``, read from S3 before the
transaction). In its transaction the job is looked for in the hot tier; when it is not there it is thawed, and then
changed as any hot job. Who comes second, an edit, a delete or the promotion, finds it hot or gone.

A bucket's shared lock may be taken before a name or a target: who has a bucket to itself waits for neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from hourbell.domain.cold import cold_hour
from hourbell.domain.errors import HourbellError
from hourbell.domain.ids import job_due_hour, shard_of
from hourbell.domain.occurrence import window_offset_ms
from hourbell.domain.run_state import JobState
from hourbell.store import cold, jobs, targets
from hourbell.store.connection import Connection, Database
from hourbell.store.constraints import ConflictError
from hourbell.store.jobs import JobValues, StoredJob

if TYPE_CHECKING:
    from hourbell.cold.objects import ColdObjects
    from hourbell.cold.record import ColdJob
    from hourbell.domain.schedule import Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Birth:
    """A job to be created, with its first occurrence. ``created_at``: to the millisecond."""

    job_id: UUID
    values: JobValues
    scheduled_for: datetime
    created_at: datetime

    @property
    def fire_at(self) -> datetime:
        """``scheduled_for`` and the job's place in its window."""
        return self.scheduled_for + timedelta(milliseconds=window_offset_ms(self.job_id, self.values.window_ms))

    def as_cold_job(self, tenant_id: UUID) -> ColdJob:
        """As the cold tier keeps it."""
        from hourbell.cold.record import ColdJob
        from hourbell.domain.clock import zone_data_version

        values = self.values._asdict()
        del values["state"]
        return ColdJob(
            job_id=self.job_id,
            tenant_id=tenant_id,
            **values,
            version=1,
            scheduled_for=self.scheduled_for,
            fire_at=self.fire_at,
            created_at=self.created_at,
            zone_data=zone_data_version(),
        )


def birth_hour(schedule: Schedule, *, paused: bool, now: datetime) -> int:
    """The hour whose bucket a new job goes to; 0: it is born warm.

    A paused job stays in the hot tier, parked: its time may pass, and it may be resumed then.
    """
    from hourbell.domain.schedule import At, next_after

    if paused or not isinstance(schedule, At):
        return 0
    first = next_after(schedule, None, now)
    return 0 if first is None else cold_hour(first.scheduled_for, now=now)


def find_in_cold(database: Database, objects: ColdObjects | None, tenant_id: UUID, job_id: UUID) -> ColdJob | None:
    """The tenant's job, if it is cold; costs nothing for one that was born warm. Outside of any transaction.

    Raises:
        ColdUnavailableError: S3 does not answer.
        SegmentError: the segment that should hold the job is missing or damaged.
    """
    if objects is None or job_due_hour(job_id) == 0:
        return None
    from hourbell.services.cold_jobs import find_cold_job

    return find_cold_job(database, objects, tenant_id, job_id)


def lock_in_tiers(
    connection: Connection, tenant_id: UUID, job_id: UUID, cold_job: ColdJob | None, *, now: datetime
) -> StoredJob | None:
    """The job, hot and locked until the transaction ends; thawed for that, if it still is the cold one."""
    stored = jobs.lock_job(connection, tenant_id, job_id)
    if stored is None and cold_job is not None:
        thaw_job(connection, cold_job, now=now)
        stored = jobs.lock_job(connection, tenant_id, job_id)
    return stored


def thaw_job(connection: Connection, cold_job: ColdJob, *, now: datetime) -> bool:
    """Move a job from the cold tier into the hot one as it is; False: it is not cold any more."""
    from hourbell.services.cold_jobs import take_cold_job

    if not take_cold_job(connection, cold_job, now=now):
        return False
    scheduled_for = present_occurrence(cold_job, now=now)
    jobs.insert_thawed_job(
        connection,
        cold_job.tenant_id,
        cold_job.job_id,
        JobValues(
            state=JobState.ACTIVE,
            **{name: getattr(cold_job, name) for name in JobValues._fields if name != "state"},
        ),
        version=cold_job.version,
        created_at=cold_job.created_at,
        shard_id=shard_of(cold_job.job_id),
        scheduled_for=scheduled_for,
        next_run_at=scheduled_for + timedelta(milliseconds=window_offset_ms(cold_job.job_id, cold_job.window_ms)),
    )
    return True


def present_occurrence(cold_job: ColdJob, *, now: datetime) -> datetime:
    """When the job is due by the zone data of this release; what is due already stays."""
    from hourbell.domain.clock import zone_data_version
    from hourbell.domain.schedule import next_after, schedule_from_json

    if cold_job.zone_data == zone_data_version() or cold_job.scheduled_for <= now:
        return cold_job.scheduled_for
    try:
        found = next_after(schedule_from_json(cold_job.schedule), cold_job.job_id, now)
    except (HourbellError, ValueError, LookupError):
        return cold_job.scheduled_for  # the claim marks it with its error
    return cold_job.scheduled_for if found is None else found.scheduled_for


def as_stored(connection: Connection, tenant_id: UUID, found: Sequence[ColdJob], *, now: datetime) -> list[StoredJob]:
    """Cold jobs in the shape of hot ones."""
    wanted = {job.target_id for job in found}
    destinations = targets.fetch_destinations(connection, tenant_id, wanted) if wanted else {}
    return [_stored(job, destinations[job.target_id], now) for job in found]


def _stored(job: ColdJob, destination: targets.Destination, now: datetime) -> StoredJob:
    return StoredJob(
        unfinished=False,
        job_id=job.job_id,
        tenant_id=job.tenant_id,
        name=job.name,
        target_id=job.target_id,
        target_name=destination.name,
        target_kind=destination.kind,
        target_config=destination.config,
        state=JobState.ACTIVE,
        schedule=job.schedule,
        schedule_version=1,
        payload=job.payload,
        window_ms=job.window_ms,
        catch_up=job.catch_up,
        overlap=job.overlap,
        retry=job.retry,
        timeout_ms=job.timeout_ms,
        tags=job.tags,
        runs_planned=0,
        skipped=[],
        error=None,
        note=None,
        version=job.version,
        created_at=job.created_at,
        updated_at=job.created_at,
        due_scheduled_for=present_occurrence(job, now=now),
    )


def claim_name(connection: Connection, tenant_id: UUID, name: str | None, job_id: UUID) -> None:
    """Decide, until the transaction ends, that the job may have this name.

    Raises:
        ConflictError: another job has it, in either tier.
    """
    if name is None:
        return
    cold.lock_names(connection, tenant_id, [name])
    if cold.find_named_jobs(connection, tenant_id, [name]).get(name, job_id) != job_id:
        raise ConflictError("name", "another job has this name")


def find_namesakes(connection: Connection, tenant_id: UUID, wanted: Sequence[tuple[str | None, UUID]]) -> set[UUID]:
    """Those jobs that may not have the names they want; of two that want one the first gets it. Names are locked."""
    named = [(name, job_id) for name, job_id in wanted if name is not None]
    if not named:
        return set()
    owners = cold.find_named_jobs(connection, tenant_id, {name for name, _ in named})
    return {job_id for name, job_id in named if owners.setdefault(name, job_id) != job_id}


def names_of(cold_jobs: Sequence[ColdJob]) -> Mapping[str, UUID]:
    """The names that these jobs hold."""
    return {job.name: job.job_id for job in cold_jobs if job.name is not None}
