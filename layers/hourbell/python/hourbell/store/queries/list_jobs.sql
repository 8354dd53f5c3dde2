-- A page of a tenant's jobs, newest first; the keyset is the id, so a job created meanwhile moves nothing.
-- What is completed here has no run that has not ended: to its user such a job is active (list_unfinished_jobs).
with page as materialized (
    select found.job_id
    from searched_job as found
    where
        found.tenant_id = %(tenant_id)s
        and found.state <> 'deleted'
        and (%(before_id)s::uuid is null or found.job_id < %(before_id)s::uuid)
        and (%(name)s::text is null or found.name = %(name)s::text)
        and (%(name_pattern)s::text is null or found.name like %(name_pattern)s::text)
        and (%(target_id)s::uuid is null or found.target_id = %(target_id)s::uuid)
        and (%(state)s::text is null or found.state = %(state)s::text)
        and (
            %(state)s::text is distinct from 'completed'
            or not exists (select 1 from run where run.job_id = found.job_id and run.wake_at is not null)
        )
    order by found.job_id desc
    limit %(limit)s
)

select
    job.job_id,
    job.name,
    job.target_id,
    target.name as target_name,
    target.kind as target_kind,
    target.config::text as target_config,
    job.state,
    job.schedule,
    job.schedule_version,
    job.payload,
    job.window_ms,
    job.catch_up::text as catch_up,
    job.overlap,
    job.retry::text as retry,
    job.timeout_ms,
    job.tags::text as tags,
    job.runs_planned,
    job.skipped,
    job.error,
    job.note,
    job.version,
    job.created_at,
    job.updated_at,
    due.scheduled_for as due_scheduled_for,
    false as unfinished
from page
inner join job on page.job_id = job.job_id
inner join target on job.target_id = target.target_id
left join due on job.job_id = due.job_id
order by job.job_id desc
