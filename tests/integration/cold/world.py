"""A cold tier under test: its clock, its jobs, and the one question that matters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from hourbell.cold.errors import ColdUnavailableError
from hourbell.cold.objects import ColdObjects
from hourbell.cold.record import ColdJob
from hourbell.cold.segment import WrittenSegment
from hourbell.domain.ids import job_due_hour
from hourbell.services.cold_jobs import add_cold_jobs, find_cold_job, take_cold_job
from hourbell.services.freeze_jobs import Frozen, freeze_jobs
from hourbell.services.promote_jobs import Promoted, promote_jobs
from hourbell.store import cold
from hourbell.store.connection import Connection, Database

from tests.cold_jobs import cold_job
from tests.seeds import T0, Seeder

ZONE_DATA = "2026c"


class CrashError(Exception):
    """The process is killed here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultyObjects(ColdObjects):
    """S3 that fails as it is told: before a call does anything, or after it did."""

    faults: dict[str, Callable[[], None]] = field(default_factory=dict)

    def put(self, segment: WrittenSegment) -> str | None:
        self._fault("before put")
        # the parent's method by name: a class with slots is made twice, and ``super`` would know the first one
        version = ColdObjects.put(self, segment)
        self._fault("after put")
        return version

    def get(self, stored: Any) -> bytes:
        self._fault("before get")
        return ColdObjects.get(self, stored)

    def find(self, stored: Any, job_id: UUID) -> bytes | None:
        found = ColdObjects.find(self, stored, job_id)
        self._fault("after find")
        return found

    def delete(self, key: str) -> None:
        ColdObjects.delete(self, key)
        self._fault("after delete")

    def _fault(self, place: str) -> None:
        if place in self.faults:
            self.faults[place]()


class FaultyDatabase(Database):
    """Fails at the n-th transaction from now: before it, or after a commit that nobody hears of."""

    def __init__(self, conninfo: str) -> None:
        super().__init__(conninfo)
        self.fail_before: int | None = None
        self.fail_after: int | None = None

    def run(self, work: Callable[[Connection], Any]) -> Any:
        if self._counted("fail_before"):
            raise CrashError
        value = super().run(work)
        if self._counted("fail_after"):
            raise CrashError
        return value

    def _counted(self, name: str) -> bool:
        left = getattr(self, name)
        if left is None:
            return False
        setattr(self, name, None if left == 0 else left - 1)
        return bool(left == 0)


@dataclass
class World:
    """``now`` moves by hand. ``accepted``: what must be somewhere; ``gone``: what must be nowhere in the cold tier."""

    database: Database
    objects: ColdObjects
    seed: Seeder
    now: datetime = T0
    accepted: dict[UUID, ColdJob] = field(default_factory=dict)
    owners: int = 0

    def accept(self, due_at: datetime, count: int = 1, **values: Any) -> list[ColdJob]:
        """Create jobs as the API does; those whose bucket is closed go to the hot tier."""
        jobs = [
            cold_job(
                due_at, created_at=self.now, tenant_id=self.seed.tenant_id, target_id=self.seed.target_id, **values
            )
            for _ in range(count)
        ]

        def work(connection: Connection) -> bool:
            if not cold.share_buckets(connection, {job_due_hour(job.job_id) for job in jobs}):
                return False
            add_cold_jobs(connection, self.seed.tenant_id, jobs, now=self.now)
            return True

        if not self.database.run(work):
            self.heat(jobs)
        self.accepted.update({job.job_id: job for job in jobs})
        return jobs

    def heat(self, jobs: Sequence[ColdJob]) -> None:
        """Make them hot, as an edit or a late create does."""
        self.database.run(lambda connection: self._heat(connection, jobs))

    def _heat(self, connection: Connection, jobs: Sequence[ColdJob]) -> None:
        for job in jobs:
            values = (job.job_id, job.tenant_id, job.target_id, job.schedule, job.payload, self.now, self.now)
            connection.execute(
                "insert into job (job_id, tenant_id, target_id, state, schedule, payload, catch_up, overlap, retry, "
                "timeout_ms, tags, created_at, updated_at) values (%s, %s, %s, 'active', %s, %s, "
                """'{"policy": "run_once"}', 'allow', '{}', 5000, '{}', %s, %s)""",
                values,
            )
            connection.execute(
                "insert into due values (%s, %s, 0, %s, %s)",
                (job.job_id, job.tenant_id, job.fire_at, job.scheduled_for),
            )

    def find(self, job_id: UUID) -> ColdJob | None:
        return find_cold_job(self.database, self.objects, self.seed.tenant_id, job_id)

    def delete(self, job_id: UUID) -> bool:
        """Cancel by address; False: it is not cold."""
        found = self.find(job_id)
        if found is None or not self.database.run(lambda c: take_cold_job(c, found, now=self.now)):
            return False
        del self.accepted[job_id]
        return True

    def edit(self, job_id: UUID, payload: str) -> bool:
        """Thaw by address; False: it is not cold."""
        found = self.find(job_id)
        if found is None:
            return False
        edited = replace(found, payload=payload)

        def thaw(connection: Connection) -> bool:
            if not take_cold_job(connection, found, now=self.now):
                return False
            self._heat(connection, [edited])
            return True

        if self.database.run(thaw):
            self.accepted[job_id] = edited
            return True
        return False

    def freeze(self) -> Frozen:
        self.owners += 1
        return freeze_jobs(
            self.database, self.objects, owner=f"freezer/{self.owners}", time_left=lambda: True, now=self.now
        )

    def promote(self, time_left: Callable[[], bool] = lambda: True, chunk: int = 1_000) -> Promoted:
        self.owners += 1
        return promote_jobs(
            self.database,
            self.objects,
            owner=f"loader/{self.owners}",
            zone_data=ZONE_DATA,
            time_left=time_left,
            now=self.now,
            chunk=chunk,
        )

    def effective(self) -> Counter[UUID]:
        """In how many effective places each job is: hot, or in the cold tier and found by its address."""
        places = Counter(job_id for (job_id,) in self.seed.rows("select job_id from job where state <> 'deleted'"))
        hot = set(places)
        gone = {job_id for (job_id,) in self.seed.rows("select job_id from cold_tombstone")}
        cold_ids = {job_id for (job_id,) in self.seed.rows("select job_id from cold_intake")}
        for line in self.frozen_lines():
            cold_ids.add(UUID(line[17:53].decode()))
        places.update(cold_ids - gone - hot)
        return places

    def frozen_lines(self) -> list[bytes]:
        """Every line of every live segment."""
        from hourbell.cold.objects import StoredObject
        from hourbell.services.freeze_jobs import read_lines

        plain = ColdObjects(bucket=self.objects.bucket, client=self.objects.client)
        rows = self.seed.rows(
            "select object_key, object_version, bytes, sha256, blocks from cold_segment where state = 'live'"
        )
        return [line for row in rows for line in read_lines(plain, StoredObject(*row))]

    def check(self) -> None:
        """Every accepted job is in exactly one effective place, and no other job is anywhere; the counts agree."""
        assert self.effective() == Counter(dict.fromkeys(self.accepted, 1))
        hot = {job_id for (job_id,) in self.seed.rows("select job_id from job")}
        expected = Counter(job_due_hour(job_id) for job_id in self.accepted if job_id not in hot)
        (promoting,) = self.seed.rows("select count(*) from cold_bucket where state = 'promoting'")[0]
        if not promoting:
            counted = self.database.run(lambda c: cold.count_cold_jobs(c, self.seed.tenant_id, limit=1_000))
            assert counted == dict(expected)

    def segments(self) -> list[tuple[str, int]]:
        return self.seed.rows("select object_key, jobs from cold_segment where state = 'live' order by first_id")

    def states(self) -> dict[int, str]:
        return dict(self.seed.rows("select due_hour, state from cold_bucket"))


def unavailable() -> None:
    """What boto3 gives up with."""
    raise ColdUnavailableError("503 Slow Down")


def crash() -> None:
    raise CrashError
