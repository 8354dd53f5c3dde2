-- One run of one tenant: the id gives the partition, another tenant's id finds nothing.
select
    run.run_id,
    run.job_id,
    run.target_id,
    run.origin,
    run.state,
    run.reason,
    run.scheduled_for,
    run.fire_at,
    run.attempt,
    run.progress::text as progress,
    run.result,
    run.error,
    run.started_at,
    run.finished_at,
    run.created_at
from run
where
    run.run_id = %(run_id)s and run.scheduled_for = %(scheduled_for)s and run.tenant_id = %(tenant_id)s
