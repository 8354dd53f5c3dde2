-- Whether a job that may still fire, or a run that has not ended, uses the target; the caller holds the target's lock.
select
    exists (
        select 1 from job
        where job.target_id = %(target_id)s and job.state in ('active', 'paused')
    )
    or exists (
        select 1 from run
        where run.wake_at is not null and run.target_id = %(target_id)s
    ) as used
