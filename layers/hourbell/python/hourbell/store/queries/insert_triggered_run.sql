-- Inserts a run that a user asked for; answers nothing when the job already has a run of this millisecond.
insert into run (
    job_id, scheduled_for, run_id, tenant_id, target_id, origin, lane, state, schedule_version,
    fire_at, next_attempt_at, wake_at, payload, created_at
) values (
    %(job_id)s, %(scheduled_for)s, %(run_id)s, %(tenant_id)s, %(target_id)s, 'trigger', %(lane)s, 'queued',
    %(schedule_version)s, %(fire_at)s, %(fire_at)s, %(wake_at)s, %(payload)s, %(now)s
)
on conflict (job_id, scheduled_for) do nothing
returning run.run_id
