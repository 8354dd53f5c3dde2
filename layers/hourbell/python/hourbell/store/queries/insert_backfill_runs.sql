-- Inserts the runs of a backfill; an occurrence that has a run already keeps it. Answers the occurrences that had none.
insert into run (
    job_id, scheduled_for, run_id, tenant_id, target_id, origin, lane, state, reason, schedule_version,
    fire_at, next_attempt_at, wake_at, created_at
)
select
    %(job_id)s, b.scheduled_for, b.run_id, %(tenant_id)s, %(target_id)s, 'backfill', %(lane)s, 'queued', b.reason,
    %(schedule_version)s, b.fire_at, b.fire_at, b.wake_at, %(now)s
from
    unnest(
        %(scheduled_for)s::timestamptz[], %(run_ids)s::uuid[], %(reasons)s::text[], %(fire_at)s::timestamptz[],
        %(wake_at)s::timestamptz[]
    ) as b (scheduled_for, run_id, reason, fire_at, wake_at)
on conflict (job_id, scheduled_for) do nothing
returning run.scheduled_for
