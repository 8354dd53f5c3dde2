-- Tells the reaper to look at these runs at once, because their message was not accepted by the lane.
update run
set wake_at = %(now)s
from unnest(%(job_ids)s::uuid[], %(scheduled_for)s::timestamptz[]) as unsent (job_id, scheduled_for)
where
    run.job_id = unsent.job_id and run.scheduled_for = unsent.scheduled_for
    and run.state in ('queued', 'retrying')
