-- Several jobs of one tenant, in the order of their ids; ids that are not its own find nothing.
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
where job.job_id = any(%(job_ids)s) and job.tenant_id = %(tenant_id)s and job.state <> 'deleted'
order by job.job_id
