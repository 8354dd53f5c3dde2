-- A page of a tenant's completed jobs that have a run which has not ended, newest first.
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
        and found.state = 'completed'
        and found.job_id in (
            select run.job_id from run
            where run.tenant_id = %(tenant_id)s and run.wake_at is not null
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
