-- How many runs of each job wait for an occurrence after this time, or found their job paused when it came.
select
    run.job_id,
    count(*) as runs
from run
where
    run.job_id = any(%(job_ids)s)
    and run.scheduled_for > %(now)s
    and run.origin = 'schedule'
    and (run.wake_at is not null or (run.state = 'skipped' and run.reason = 'paused'))
group by run.job_id
