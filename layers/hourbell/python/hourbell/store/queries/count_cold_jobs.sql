-- How many cold jobs the tenant has, by hour; those of an hour on its way to the hot tier are counted until it is there.
select
    counted.due_hour,
    sum(counted.jobs)::bigint as jobs
from (
    select
        intake.due_hour,
        count(*) as jobs
    from cold_intake as intake
    where intake.tenant_id = %(tenant_id)s and intake.due_hour between %(first_hour)s and %(last_hour)s
    group by intake.due_hour
    union all
    select
        content.due_hour,
        sum(content.jobs) as jobs
    from cold_content as content
    where content.tenant_id = %(tenant_id)s and content.due_hour between %(first_hour)s and %(last_hour)s
    group by content.due_hour
    union all
    select
        gone.due_hour,
        -count(*) as jobs
    from cold_tombstone as gone
    inner join cold_bucket as bucket on gone.due_hour = bucket.due_hour
    where
        gone.tenant_id = %(tenant_id)s
        and gone.frozen
        and bucket.state <> 'promoted'
        and gone.due_hour between %(first_hour)s and %(last_hour)s
    group by gone.due_hour
) as counted
group by counted.due_hour
having sum(counted.jobs) > 0
order by counted.due_hour
limit %(limit)s
