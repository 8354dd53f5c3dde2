-- Starts ended runs over, oldest first, with a full set of attempts and the same run ids; answers what must be sent.
with chosen as materialized (
    select
        run.job_id,
        run.scheduled_for
    from run
    inner join job on run.job_id = job.job_id
    where
        run.tenant_id = %(tenant_id)s
        and run.state = any(%(states)s)
        and job.state <> 'deleted'
        and (%(run_id)s::uuid is null or run.run_id = %(run_id)s::uuid)
        and (%(job_id)s::uuid is null or run.job_id = %(job_id)s::uuid)
        and (%(target_id)s::uuid is null or run.target_id = %(target_id)s::uuid)
        and (
            %(target_name)s::text is null
            or run.target_id in (
                select target.target_id from target
                where target.tenant_id = %(tenant_id)s and target.name = %(target_name)s::text
            )
        )
        and (%(from_at)s::timestamptz is null or run.scheduled_for >= %(from_at)s::timestamptz)
        and (%(to_at)s::timestamptz is null or run.scheduled_for < %(to_at)s::timestamptz)
    order by run.scheduled_for, run.job_id
    limit %(limit)s
    for update of run skip locked
)

update run
set
    state = 'queued', reason = 'redriven', error = null, started_at = null, finished_at = null,
    attempts_before = run.attempt, fire_at = %(now)s, next_attempt_at = %(now)s, wake_at = %(now)s + %(grace)s, wakes = 0,
    redriven = true
from chosen
where run.job_id = chosen.job_id and run.scheduled_for = chosen.scheduled_for
returning run.job_id, run.scheduled_for, run.tenant_id, run.lane, run.next_attempt_at
