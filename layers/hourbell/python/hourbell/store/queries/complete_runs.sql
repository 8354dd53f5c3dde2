-- Records outcomes, each only while its lease token still holds; an outcome it does not answer came too late and changes nothing.
with outcome as (
    select *
    from unnest(
        %(job_ids)s::uuid[], %(scheduled_for)s::timestamptz[], %(tokens)s::uuid[], %(states)s::text[],
        %(reasons)s::text[], %(errors)s::text[], %(next_attempt_at)s::timestamptz[], %(wake_at)s::timestamptz[],
        %(outcomes)s::text[], %(status_codes)s::integer[], %(durations_ms)s::integer[]
    ) as o (
        job_id, scheduled_for, token, state, reason, error, next_attempt_at, wake_at,
        outcome, status_code, duration_ms
    )
),

mine as materialized (
    select
        outcome.*,
        run.run_id,
        run.tenant_id,
        run.target_id,
        run.attempt
    from outcome
    inner join run on outcome.job_id = run.job_id and outcome.scheduled_for = run.scheduled_for
    where
        run.state = 'running' and run.lease_token = outcome.token
        and run.scheduled_for between %(first)s and %(last)s
    order by run.job_id, run.scheduled_for
    for update of run
),

ended as (
    update run
    set
        state = mine.state,
        reason = mine.reason,
        error = mine.error,
        lease_token = null,
        lease_expires_at = null,
        next_attempt_at = coalesce(mine.next_attempt_at, run.next_attempt_at),
        wake_at = mine.wake_at,
        finished_at = case when mine.wake_at is null then coalesce(%(now)s::timestamptz, clock_timestamp()) end
    from mine
    where
        run.job_id = mine.job_id and run.scheduled_for = mine.scheduled_for
        and run.scheduled_for between %(first)s and %(last)s
),

told as (
    insert into event_outbox (
        kind, tenant_id, job_id, run_id, scheduled_for, target_id, attempt, reason, error, recorded_at
    )
    select
        'run.dead',
        mine.tenant_id,
        mine.job_id,
        mine.run_id,
        mine.scheduled_for,
        mine.target_id,
        mine.attempt,
        mine.reason,
        mine.error,
        coalesce(%(now)s::timestamptz, clock_timestamp())
    from mine
    where mine.state = 'dead'
),

closed as (
    update attempt
    set
        finished_at = coalesce(%(now)s::timestamptz, clock_timestamp()),
        outcome = mine.outcome,
        status_code = mine.status_code,
        error = mine.error,
        -- reported by the target itself: from the attempt's own start
        duration_ms = coalesce(
            mine.duration_ms,
            (extract(epoch from coalesce(%(now)s::timestamptz, clock_timestamp()) - attempt.started_at) * 1000)::integer
        )
    from mine
    where
        attempt.run_id = mine.run_id and attempt.number = mine.attempt
        and attempt.scheduled_for = mine.scheduled_for
        and attempt.scheduled_for between %(first)s and %(last)s
)

select mine.token from mine
