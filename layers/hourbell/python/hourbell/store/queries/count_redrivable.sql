-- How many runs a redrive of this filter would start over, counted up to a limit.
select count(*)
from (
    select 1
    from run
    inner join job on run.job_id = job.job_id
    where
        run.tenant_id = %(tenant_id)s
        and run.state = any(%(states)s)
        and job.state <> 'deleted'
        and (%(run_id)s::uuid is null or run.run_id = %(run_id)s::uuid)
        and (%(job_id)s::uuid is null or run.job_id = %(job_id)s::uuid)
        and (%(target_id)s::uuid is null or run.target_id = %(target_id)s::uuid)
        and (
            %(target_name)s::text is null
            or run.target_id in (
                select target.target_id from target
                where target.tenant_id = %(tenant_id)s and target.name = %(target_name)s::text
            )
        )
        and (%(from_at)s::timestamptz is null or run.scheduled_for >= %(from_at)s::timestamptz)
        and (%(to_at)s::timestamptz is null or run.scheduled_for < %(to_at)s::timestamptz)
    limit %(limit)s
) as matching
