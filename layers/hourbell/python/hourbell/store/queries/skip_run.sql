-- Records an occurrence as skipped by its user: with a run of its own, or by ending the one that waits; one that has started stays as it is.
insert into run (
    job_id, scheduled_for, run_id, tenant_id, target_id, origin, lane, state, reason, schedule_version,
    fire_at, next_attempt_at, wake_at, finished_at, created_at
) values (
    %(job_id)s, %(scheduled_for)s, %(run_id)s, %(tenant_id)s, %(target_id)s, 'schedule', %(lane)s, 'skipped',
    'skipped_by_user', %(schedule_version)s, %(fire_at)s, %(fire_at)s, null, %(now)s, %(now)s
)
on conflict (job_id, scheduled_for) do update
    set state = excluded.state, reason = excluded.reason, wake_at = null, finished_at = excluded.finished_at
    where run.origin = 'schedule' and run.state = 'queued' and run.attempt = 0
