-- Writes what the reaper decided for runs it holds locked: sent again, backed off, crashed into a retry, dead or cancelled.
with decided as (
    select *
    from unnest(
        %(job_ids)s::uuid[], %(scheduled_for)s::timestamptz[], %(states)s::text[], %(reasons)s::text[],
        %(lanes)s::text[], %(target_ids)s::uuid[], %(next_attempt_at)s::timestamptz[], %(wake_at)s::timestamptz[],
        %(wakes)s::smallint[], %(crashed)s::boolean[]
    ) as d (job_id, scheduled_for, state, reason, lane, target_id, next_attempt_at, wake_at, wakes, crashed)
),

written as (
    update run
    set
        state = decided.state,
        reason = decided.reason,
        lane = decided.lane,
        target_id = decided.target_id,
        lease_token = null,
        lease_expires_at = null,
        next_attempt_at = decided.next_attempt_at,
        wake_at = decided.wake_at,
        wakes = decided.wakes,
        finished_at = case when decided.wake_at is null then %(now)s end
    from decided
    where run.job_id = decided.job_id and run.scheduled_for = decided.scheduled_for
    returning
        run.run_id, run.attempt, run.scheduled_for, run.job_id, run.tenant_id, run.target_id, run.state, run.reason,
        decided.crashed
),

told as (
    insert into event_outbox (
        kind, tenant_id, job_id, run_id, scheduled_for, target_id, attempt, reason, error, recorded_at
    )
    select
        'run.dead',
        written.tenant_id,
        written.job_id,
        written.run_id,
        written.scheduled_for,
        written.target_id,
        written.attempt,
        written.reason,
        'the worker''s lease ended without an outcome',
        %(now)s
    from written
    where written.state = 'dead'
)

update attempt
set
    finished_at = %(now)s,
    outcome = 'crashed',
    error = 'the worker''s lease ended without an outcome'
from written
where
    written.crashed
    and attempt.run_id = written.run_id
    and attempt.number = written.attempt
    and attempt.scheduled_for = written.scheduled_for
