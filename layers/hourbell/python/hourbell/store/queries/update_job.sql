-- Writes an edited job; the caller holds its lock.
update job
set
    name = %(name)s,
    target_id = %(target_id)s,
    state = %(state)s,
    schedule = %(schedule)s,
    schedule_version = job.schedule_version + %(schedule_step)s,
    payload = %(payload)s,
    window_ms = %(window_ms)s,
    catch_up = %(catch_up)s::jsonb,
    overlap = %(overlap)s,
    retry = %(retry)s::jsonb,
    timeout_ms = %(timeout_ms)s,
    tags = %(tags)s::jsonb,
    runs_planned = greatest(0, job.runs_planned - %(unplanned)s),
    error = %(error)s,
    version = job.version + 1,
    updated_at = %(now)s
where job.job_id = %(job_id)s and job.tenant_id = %(tenant_id)s
