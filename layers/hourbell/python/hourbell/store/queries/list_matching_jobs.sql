-- A page of what few of a tenant's jobs match, newest first: all that have the terms, by their index, and then in order.
with matching as materialized (
    select searched_job.*
    from searched_job
    where
        searched_job.tenant_id = %(tenant_id)s
        and searched_job.state <> 'deleted'
        and searched_job.terms @@ %(terms)s::tsquery
),

page as materialized (
    select found.job_id
    from matching as found
    where
        found.tenant_id = %(tenant_id)s
        and found.state <> 'deleted'
        and (%(before_id)s::uuid is null or found.job_id < %(before_id)s::uuid)
        and (%(name)s::text is null or found.name = %(name)s::text)
        and (%(name_pattern)s::text is null or found.name like %(name_pattern)s::text)
        and (%(target_id)s::uuid is null or found.target_id = %(target_id)s::uuid)
        and case %(state)s::text
            when 'active'
                then
                    found.state = 'active'
                    or (
                        found.state = 'completed'
                        and exists (select 1 from run where run.job_id = found.job_id and run.wake_at is not null)
                    )
            when 'completed'
                then
                    found.state = 'completed'
                    and not exists (select 1 from run where run.job_id = found.job_id and run.wake_at is not null)
            when 'paused' then found.state = 'paused'
            else true
        end
        and (
            %(due_before)s::timestamptz is null
            or exists (
                select 1 from due
                where due.job_id = found.job_id and due.next_run_at < %(due_before)s::timestamptz
            )
            or exists (
                select 1 from run
                where
                    run.job_id = found.job_id and run.state = 'queued'
                    and run.scheduled_for between %(planned_from)s and %(planned_to)s
                    and run.fire_at < %(due_before)s::timestamptz
            )
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
