-- A page of a tenant's jobs, newest first; the keyset is the id, so a job created meanwhile moves nothing.
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
    case
        when job.state = 'completed'
            then exists (select 1 from run where run.job_id = job.job_id and run.wake_at is not null)
        else false
    end as unfinished
from job
inner join target on job.target_id = target.target_id
left join due on job.job_id = due.job_id
where
    job.tenant_id = %(tenant_id)s
    and job.state <> 'deleted'
    and (%(before_id)s::uuid is null or job.job_id < %(before_id)s::uuid)
    and (%(name)s::text is null or job.name = %(name)s::text)
    and (%(pattern)s::text is null or job.name ilike %(pattern)s::text)
    and (%(tags)s::jsonb is null or job.tags @> %(tags)s::jsonb)
    and (%(target_id)s::uuid is null or job.target_id = %(target_id)s::uuid)
    and (%(target_name)s::text is null or target.name = %(target_name)s::text)
    -- A one-off whose run has not ended is active to its user, though nothing of it is left to plan.
    and (
        %(state)s::text is null
        or (
            %(state)s::text = 'active'
            and (
                job.state = 'active'
                or (
                    job.state = 'completed'
                    and job.job_id in (
                        select run.job_id from run
                        where run.tenant_id = %(tenant_id)s and run.wake_at is not null
                    )
                )
            )
        )
        or (
            %(state)s::text = 'completed'
            and job.state = 'completed'
            and job.job_id not in (
                select run.job_id from run
                where run.tenant_id = %(tenant_id)s and run.wake_at is not null
            )
        )
        or (%(state)s::text = 'paused' and job.state = 'paused')
    )
order by job.job_id desc
limit %(limit)s
