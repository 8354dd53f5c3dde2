-- Has the reaper look at once at what waits for a worker of this job or target, because it was given another destination.
update run
set wake_at = %(now)s
where
    run.lane = 'pull' and run.state in ('queued', 'retrying')
    and (run.job_id = %(job_id)s::uuid or run.target_id = %(target_id)s::uuid)
