-- Lets the buffered run of each of these jobs start now that the one before it has ended; answers what must be sent.
update run
set
    next_attempt_at = coalesce(%(now)s::timestamptz, clock_timestamp()),
    wake_at = coalesce(%(now)s::timestamptz, clock_timestamp()) + %(grace)s,
    reason = null
where run.job_id = any(%(job_ids)s) and run.state = 'queued' and run.reason = 'buffered' and run.wake_at is not null
returning run.job_id, run.scheduled_for, run.tenant_id, run.lane, run.next_attempt_at
