-- Ends runs whose occurrence the present schedule no longer has, while they still wait.
update run
set
    state = 'cancelled', reason = 'rescheduled', wake_at = null,
    finished_at = coalesce(%(now)s::timestamptz, clock_timestamp())
from unnest(%(job_ids)s::uuid[], %(scheduled_for)s::timestamptz[]) as stale (job_id, scheduled_for)
where
    run.job_id = stale.job_id and run.scheduled_for = stale.scheduled_for
    and run.state in ('queued', 'retrying')
