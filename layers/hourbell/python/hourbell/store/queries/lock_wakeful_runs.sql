-- Locks the runs that must be looked at again, longest waiting first; one that is being worked on right now is passed over.
with wakeful as materialized (
    select
        run.job_id,
        run.scheduled_for,
        run.run_id,
        run.tenant_id,
        run.target_id,
        run.state,
        run.reason,
        run.limited,
        run.lane,
        run.next_attempt_at,
        run.attempt,
        run.attempts_before,
        run.wakes,
        run.fire_at,
        run.wake_at
    from run
    where run.wake_at <= coalesce(%(now)s, clock_timestamp())
    order by run.wake_at
    limit %(limit)s
    for update skip locked
)

select
    wakeful.*,
    job.retry,
    job.state = 'deleted' as job_deleted,
    job.timeout_ms,
    job.target_id as present_target_id,
    target.kind as target_kind,
    coalesce(%(now)s, clock_timestamp()) as now
from wakeful
inner join job on wakeful.job_id = job.job_id
inner join target on job.target_id = target.target_id
