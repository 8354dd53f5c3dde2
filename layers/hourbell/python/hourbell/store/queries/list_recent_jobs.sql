-- What matches among a tenant's newest jobs, newest first: a page of what many jobs match, whatever the planner thinks of it.
-- "offset 0" has each job's place looked up by its id: the planner would rather read every place before that time.
with page as materialized (
    select found.job_id
    from (
        select newest.*
        from searched_job as newest
        where
            newest.tenant_id = %(tenant_id)s
            and newest.state <> 'deleted'
            and (%(before_id)s::uuid is null or newest.job_id < %(before_id)s::uuid)
        order by newest.job_id desc
        limit %(among)s
    ) as found
    where
        (%(name)s::text is null or found.name = %(name)s::text)
        and (%(name_pattern)s::text is null or found.name like %(name_pattern)s::text)
        and (%(target_id)s::uuid is null or found.target_id = %(target_id)s::uuid)
        and (%(terms)s::text is null or found.terms @@ %(terms)s::tsquery)
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
                offset 0
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
