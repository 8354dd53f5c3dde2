-- Lets the runs that a pause of this target held start now, as if they had been meant for now: a pause ages nothing.
update run
set
    next_attempt_at = %(now)s,
    fire_at = greatest(run.fire_at, %(now)s),
    wake_at = %(now)s + %(grace)s,
    reason = null
where
    run.target_id = %(target_id)s and run.reason = 'target_paused' and run.wake_at is not null
    and run.state in ('queued', 'retrying')
returning run.job_id, run.scheduled_for, run.tenant_id, run.lane, run.fire_at, 0 as window_ms
