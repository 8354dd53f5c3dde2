-- Inserts a job; the name is unique among the tenant's jobs that are not deleted. A job that is there already by its id stays as it is.
insert into job (
    job_id, tenant_id, name, target_id, state, schedule, payload, window_ms, catch_up, overlap, retry,
    timeout_ms, tags, created_at, updated_at
) values (
    %(job_id)s, %(tenant_id)s, %(name)s, %(target_id)s, %(state)s, %(schedule)s, %(payload)s, %(window_ms)s,
    %(catch_up)s::jsonb, %(overlap)s, %(retry)s::jsonb, %(timeout_ms)s, %(tags)s::jsonb, %(now)s, %(now)s
)
on conflict (job_id) do nothing
