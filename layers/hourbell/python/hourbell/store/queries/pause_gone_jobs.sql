-- Pauses active jobs whose target says that it is gone for good, as their owner would, and says so in an event. A job that
-- has another target by now is left alone. The caller holds the jobs and their places.
with gone as (
    select *
    from unnest(
        %(job_ids)s::uuid[], %(shard_ids)s::smallint[], %(target_ids)s::uuid[], %(run_ids)s::uuid[],
        %(scheduled_for)s::timestamptz[], %(attempts)s::integer[], %(errors)s::text[]
    ) as g (job_id, shard_id, target_id, run_id, scheduled_for, attempt, error)
),

clock as (select coalesce(%(now)s::timestamptz, clock_timestamp()) as now),

paused as (
    update job
    set
        state = 'paused',
        note = 'its target answered 410 Gone',
        version = job.version + 1,
        updated_at = date_trunc('milliseconds', clock.now)
    from gone
    cross join clock
    where job.job_id = gone.job_id and job.target_id = gone.target_id and job.state = 'active'
    returning job.tenant_id, gone.*, clock.now
),

parked as (
    insert into due (job_id, tenant_id, shard_id, next_run_at, scheduled_for)
    select
        paused.job_id,
        paused.tenant_id,
        paused.shard_id,
        'infinity',
        place.scheduled_for
    from paused
    cross join
        lateral (
            select least(
                (select due.scheduled_for from due where due.job_id = paused.job_id),
                (
                    select min(run.scheduled_for)
                    from run
                    where
                        run.job_id = paused.job_id and run.origin = 'schedule' and run.state = 'queued'
                        and run.attempt = 0 and run.wake_at is not null
                )
            ) as scheduled_for
        ) as place
    where place.scheduled_for is not null
    on conflict (job_id) do update
        set next_run_at = excluded.next_run_at, scheduled_for = excluded.scheduled_for
)

insert into event_outbox (
    kind, tenant_id, job_id, run_id, scheduled_for, target_id, attempt, reason, error, recorded_at
)
select
    'job.paused',
    paused.tenant_id,
    paused.job_id,
    paused.run_id,
    paused.scheduled_for,
    paused.target_id,
    paused.attempt,
    'target_gone',
    paused.error,
    paused.now
from paused
