-- Locks the runs of a target that wait for their first attempt at a moment to come, in the order of their moments.
select
    run.job_id,
    run.scheduled_for,
    run.tenant_id,
    run.lane,
    run.fire_at,
    job.window_ms
from run
inner join job on run.job_id = job.job_id
where
    run.target_id = %(target_id)s and run.wake_at is not null and run.state = 'queued' and run.attempt = 0
    and run.reason is null and run.fire_at > %(now)s
order by run.fire_at, run.job_id
for update of run
