-- A page of a tenant's jobs, newest first; the keyset is the id, so a job created meanwhile moves nothing.
-- Whatever the planner thinks of a filter, an index in the order of ids leads: how names begin, and terms, are held
-- against each job in a form that no index serves, and "offset 0" has each job's place and runs looked up by its id.
with page as materialized (
    select found.job_id
    from searched_job as found
    where
        found.tenant_id = %(tenant_id)s
        and found.state <> 'deleted'
        and (%(before_id)s::uuid is null or found.job_id < %(before_id)s::uuid)
        and (%(through_id)s::uuid is null or found.job_id >= %(through_id)s::uuid)
        and (%(among)s::uuid[] is null or found.job_id = any(%(among)s::uuid[]))
        and (%(target_id)s::uuid is null or found.target_id = %(target_id)s::uuid)
        and (%(name)s::text is null or found.name = %(name)s::text)
        and (%(name_pattern)s::text is null or nullif(found.name, '') like %(name_pattern)s::text)
        and (%(terms)s::text is null or ts_match_vq(found.terms, %(terms)s::tsquery))
        and case %(state)s::text
            when 'active'
                then
                    found.state = 'active'
                    or (
                        found.state = 'completed'
                        and (
                            found.job_id = any(%(unfinished)s::uuid[])
                            or exists (
                                select 1 from run
                                where
                                    run.job_id = found.job_id and run.state in ('queued', 'running', 'retrying')
                                    and run.scheduled_for >= %(unknown_from)s
                                offset 0
                            )
                        )
                    )
            when 'completed'
                then
                    found.state = 'completed'
                    and not found.job_id = any(%(unfinished)s::uuid[])
                    and not exists (
                        select 1 from run
                        where
                            run.job_id = found.job_id and run.state in ('queued', 'running', 'retrying')
                            and run.scheduled_for >= %(unknown_from)s
                        offset 0
                    )
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
                offset 0
            )
        )
    order by found.job_id desc
    limit %(limit)s
)

select
    false as unfinished,
    stored_job.*
from page
inner join stored_job on page.job_id = stored_job.job_id
order by stored_job.job_id desc
