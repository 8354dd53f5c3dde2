-- The hours whose intake has at least so many jobs, with its oldest; read from an index alone, without locks.
select
    counted.due_hour,
    counted.jobs,
    (
        select intake.job_id
        from cold_intake as intake
        where intake.due_hour = counted.due_hour
        order by intake.job_id
        limit 1
    ) as oldest_id
from (
    select
        intake.due_hour,
        count(*) as jobs
    from cold_intake as intake
    where intake.due_hour > %(after_hour)s
    group by intake.due_hour
    having count(*) >= %(least)s
) as counted
order by counted.due_hour
