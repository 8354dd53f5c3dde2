-- Inserts many jobs with their places in the hot table; answers those whose name was free.
with wanted as (
    select *
    from unnest(
        %(job_ids)s::uuid[], %(name)s::text[], %(target_id)s::uuid[], %(state)s::text[], %(schedule)s::text[],
        %(payload)s::text[], %(window_ms)s::bigint[], %(catch_up)s::text[], %(overlap)s::text[], %(retry)s::text[],
        %(timeout_ms)s::integer[], %(tags)s::text[], %(shard_ids)s::smallint[], %(scheduled_for)s::timestamptz[],
        %(fire_at)s::timestamptz[]
    ) as w (
        job_id, name, target_id, state, schedule, payload, window_ms, catch_up, overlap, retry, timeout_ms, tags,
        shard_id, scheduled_for, fire_at
    )
),

inserted as (
    insert into job (
        job_id, tenant_id, name, target_id, state, schedule, payload, window_ms, catch_up, overlap, retry,
        timeout_ms, tags, created_at, updated_at
    )
    select
        w.job_id, %(tenant_id)s, w.name, w.target_id, w.state, w.schedule, w.payload, w.window_ms, w.catch_up::jsonb,
        w.overlap, w.retry::jsonb, w.timeout_ms, w.tags::jsonb, %(now)s, %(now)s
    from wanted as w
    on conflict (tenant_id, name) where name is not null and state <> 'deleted' do nothing
    returning job.job_id
),

placed as (
    insert into due (job_id, tenant_id, shard_id, next_run_at, scheduled_for)
    select
        w.job_id, %(tenant_id)s, w.shard_id, case w.state when 'paused' then 'infinity' else w.fire_at end,
        w.scheduled_for
    from wanted as w
    inner join inserted on w.job_id = inserted.job_id
)

select inserted.job_id
from inserted
