-- Puts a job that was just taken out of the cold tier into the hot one as it was, with its place there.
with thawed as (
    insert into job (
        job_id, tenant_id, name, target_id, state, schedule, payload, window_ms, catch_up, overlap, retry,
        timeout_ms, tags, version, created_at, updated_at
    ) values (
        %(job_id)s, %(tenant_id)s, %(name)s, %(target_id)s, %(state)s, %(schedule)s, %(payload)s, %(window_ms)s,
        %(catch_up)s::jsonb, %(overlap)s, %(retry)s::jsonb, %(timeout_ms)s, %(tags)s::jsonb, %(version)s,
        %(created_at)s, %(created_at)s
    )
    returning job.job_id, job.tenant_id
)

insert into due (job_id, tenant_id, shard_id, next_run_at, scheduled_for)
select thawed.job_id, thawed.tenant_id, %(shard_id)s, %(next_run_at)s, %(scheduled_for)s
from thawed
