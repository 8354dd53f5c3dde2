-- Whether any run waits for a worker of this target: what a worker that waits asks most often, in one index's range and
-- at a fifth of what finding, judging and locking them costs.
select 1
from run
where
    run.target_id = %(target_id)s and run.tenant_id = %(tenant_id)s
    and run.lane = 'pull' and run.state in ('queued', 'retrying')
    and run.next_attempt_at <= coalesce(%(now)s::timestamptz, clock_timestamp())
limit 1
