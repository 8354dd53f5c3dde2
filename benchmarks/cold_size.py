"""Ten million pending jobs in PostgreSQL: all of them hot, and 1 % hot with the rest in the cold tier. Both are built.

All hot: ten million rows of ``job`` and ``due``, with the texts that the API would have written.

One in a hundred hot: the hot rows come through the loader, three times, and leave again twice, as fired jobs do, so
that the tables have been in use. Cold jobs are accepted in portions and frozen by the freezer into a bucket in memory,
with a vacuum after each portion, as autovacuum would; then each of the 4,380 hours gets a rest in the intake, half of
the most that stays there. ``--full`` freezes all 9.9 million (half an hour); otherwise it is a tenth of the hours, as
full as all would be, and the catalogue counts tenfold.
"""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

import psycopg
from hourbell.cold.objects import ColdObjects
from hourbell.cold.policy import FEW
from hourbell.domain.cold import hour_start
from hourbell.domain.ids import due_hour_of
from hourbell.services.freeze_jobs import freeze_jobs
from hourbell.services.promote_jobs import promote_jobs
from hourbell.store.connection import Database

from benchmarks.cold import BUCKET, HOURS, NOW, PAYLOAD, TARGET, TENANT, MemoryS3, relation_bytes, rows
from benchmarks.cold_trickle import accept

ALL, HOT = 10_000_000, 100_000
AT_ONCE = 500_000
PORTIONS = 10
HOT_TABLES = ("job", "due")
CATALOGUE = ("cold_segment", "cold_content", "cold_bucket", "cold_tombstone", "cold_name")

# Ids as the product makes them: in the order of time, the rest random.
_JOBS = """
with born as (
    select
        n,
        (
            lpad(to_hex(1809950400000 + n), 12, '0') || '8' || substr(md5(n::text), 1, 3)
            || '8' || substr(md5(n::text), 4, 15)
        )::uuid as job_id,
        date_trunc('milliseconds', %(now)s + (hashint8(n) %% 7884000) * interval '1 s') as due_at
    from generate_series(%(first)s::bigint, %(last)s::bigint) as n
),
inserted as (
    insert into job (
        job_id, tenant_id, target_id, state, schedule, payload, window_ms, catch_up, overlap, retry, timeout_ms, tags,
        version, created_at, updated_at
    )
    select
        job_id, %(tenant)s, %(target)s, 'active',
        '{"at":"' || to_char(due_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
        || '","timezone":null,"gap":"run","repeat":"once"}',
        format(%(payload)s, n), 0, '{"policy":"run_once","within":null}', 'allow',
        '{"max_attempts":5,"backoff":"exponential","initial":"PT10S","maximum":"PT1H","max_age":"P1D"}', 30000,
        '{"team":"reminders"}', 1, %(now)s, %(now)s
    from born
    order by n
)
insert into due (job_id, tenant_id, shard_id, next_run_at, scheduled_for)
select
    job_id, %(tenant)s, mod(get_byte(sha256(convert_to('shard', 'UTF8') || uuid_send(job_id)), 0), 128), due_at, due_at
from born
order by n
"""


def all_hot(conninfo: str) -> dict[str, Any]:
    """Ten million jobs in the hot tables."""
    values = {"now": NOW, "tenant": TENANT, "target": TARGET, "payload": PAYLOAD.replace("%d", "%s")}
    with psycopg.connect(conninfo, autocommit=True) as connection:
        for first in range(0, ALL, AT_ONCE):
            connection.execute(_JOBS, {**values, "first": first, "last": first + AT_ONCE - 1})
        for table in HOT_TABLES:
            connection.execute(f"vacuum analyze {table}")
    assert rows(conninfo, "select count(*) from due") == [(ALL,)]
    return {
        "all_postgres_mib": mib(conninfo, *HOT_TABLES),
        "all_postgres_due_mib": mib(conninfo, "due"),
        "hot_bytes_per_job": round(relation_bytes(conninfo, *HOT_TABLES) / ALL),
    }


def one_percent_hot(conninfo: str, *, full: bool) -> dict[str, Any]:
    """A hundred thousand jobs in the hot tables, the others in the cold tier."""
    s3 = MemoryS3()
    objects = ColdObjects(bucket=BUCKET, client=lambda: s3)
    database = Database(conninfo)
    first = due_hour_of(NOW) + 240
    with psycopg.connect(conninfo, autocommit=True) as connection:
        heat(connection, database, objects)
        frozen = freeze(connection, database, objects, first, HOURS if full else HOURS // 10)
        random = Random(11)
        for hour in range(HOURS):
            accept(connection, FEW // 2 - 1, NOW, lambda hour=hour: first + hour, random)
        for table in (*HOT_TABLES, *CATALOGUE, "cold_intake"):
            connection.execute(f"vacuum analyze {table}")
    database.close()
    assert rows(conninfo, "select count(*) from due") == [(HOT,)]
    catalogue = mib(conninfo, *CATALOGUE) * (ALL - HOT) / frozen
    hot, intake = mib(conninfo, *HOT_TABLES), mib(conninfo, "cold_intake")
    ((waiting,),) = rows(conninfo, "select count(*) from cold_intake")
    return {
        "size_frozen_jobs": frozen,
        "hot_table_mib": hot,
        "hot_due_mib": mib(conninfo, "due"),
        "cold_intake_mib": intake,
        "cold_intake_rows": waiting,
        "cold_catalogue_mib": round(catalogue, 1),
        "one_percent_hot_mib": round(hot + intake + catalogue, 1),
        "catalogue_bytes_per_job": round(catalogue * 2**20 / (ALL - HOT), 1),
        "intake_bytes_per_job": round(intake * 2**20 / waiting),
    }


def heat(connection: psycopg.Connection[Any], database: Database, objects: ColdObjects) -> None:
    """Three hours' jobs become hot, one hour's after the other; those of the first two fire and go."""
    random, first = Random(5), due_hour_of(NOW) + 48
    for due_hour in range(first, first + 3):
        connection.execute("delete from due")
        connection.execute("delete from job")
        connection.execute("vacuum job")
        connection.execute("vacuum due")
        accept(connection, HOT, NOW, lambda due_hour=due_hour: due_hour, random)
        promoted = promote_jobs(
            database,
            objects,
            owner="benchmark",
            zone_data="2026c",
            time_left=lambda: True,
            now=hour_start(due_hour - 2),
        )
        assert promoted.jobs == HOT, promoted
        connection.execute("vacuum cold_intake")


def freeze(
    connection: psycopg.Connection[Any], database: Database, objects: ColdObjects, first: int, hours: int
) -> int:
    """So many hours' share of the cold jobs, frozen; how many."""
    random, frozen = Random(7), 0
    share = (ALL - HOT) // HOURS * hours // PORTIONS
    for portion in range(PORTIONS):
        now = NOW + timedelta(hours=portion)
        numbers = iter(range(share))
        accept(connection, share, now, lambda numbers=numbers: first + next(numbers) % hours, random)
        tick = freeze_jobs(
            database, objects, owner="benchmark", time_left=lambda: True, now=now + timedelta(minutes=30)
        )
        frozen += tick.jobs
        connection.execute("vacuum cold_intake")
        connection.execute("vacuum cold_segment")
    assert frozen == share * PORTIONS, frozen
    return frozen


def mib(conninfo: str, *tables: str) -> float:
    """Tables with their indexes."""
    return round(relation_bytes(conninfo, *tables) / 2**20, 1)
