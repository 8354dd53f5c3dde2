-- How many runs of each job wait for an occurrence that is still ahead.
select
    run.job_id,
    count(*) as runs
from run
where
    run.job_id = any(%(job_ids)s)
    and run.scheduled_for > %(now)s
    and run.origin = 'schedule'
    and run.wake_at is not null
group by run.job_id
