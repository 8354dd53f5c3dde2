-- Locks one run of one tenant, with what deciding about it needs of its job.
select
    run.job_id,
    run.scheduled_for,
    run.run_id,
    run.tenant_id,
    run.target_id,
    run.state,
    run.lane,
    run.limited,
    run.attempt,
    run.attempts_before,
    run.fire_at,
    run.lease_token,
    job.retry,
    job.overlap,
    job.state = 'deleted' as job_deleted
from run
inner join job on run.job_id = job.job_id
where run.run_id = %(run_id)s and run.scheduled_for = %(scheduled_for)s and run.tenant_id = %(tenant_id)s
for update of run
