-- Gives each run to one worker at a time, only when its time has come, together with its job and target as they are at this moment.
-- Runs of paused or deleted jobs end here; a run planned for an older schedule is answered with verdict 'recheck',
-- and leased when it is asked for again as checked. Overlap is judged here and nowhere else: the caller holds the rows
-- of jobs that mind it (lock_overlap_jobs.sql) and asks for one run of a job at a time.
with wanted as (
    select *
    from unnest(
        %(job_ids)s::uuid [], %(scheduled_for)s::timestamptz [], %(checked)s::boolean []
    ) as w (job_id, scheduled_for, checked)
),

locked as materialized (
    select
        run.job_id,
        run.scheduled_for,
        run.run_id,
        run.state,
        run.origin,
        run.lane,
        run.next_attempt_at,
        run.schedule_version,
        wanted.checked
    from wanted
    inner join run on wanted.job_id = run.job_id and wanted.scheduled_for = run.scheduled_for
    order by run.job_id, run.scheduled_for
    for update of run
),

judged as (
    select
        locked.*,
        job.schedule as job_schedule,
        job.schedule_version as job_schedule_version,
        job.payload as job_payload,
        job.retry as job_retry,
        job.timeout_ms as job_timeout_ms,
        job.overlap as job_overlap,
        target.target_id,
        target.config as target_config,
        locked.next_attempt_at - clock.now as remaining,
        target.kind as target_kind,
        case
            when locked.state not in ('queued', 'retrying') then 'taken'
            when job.state = 'deleted' then 'deleted'
            when locked.next_attempt_at > clock.now then 'early'
            when locked.origin = 'schedule' and job.state = 'paused' then 'paused'
            when target.state = 'paused' then 'held'
            when target.state = 'deleted' then 'no_target'
            when
                locked.origin = 'schedule' and not locked.checked
                and locked.schedule_version <> job.schedule_version then 'recheck'
            when job.overlap = 'skip' and others.unfinished then 'overlap'
            when job.overlap = 'buffer_one' and others.unfinished and others.buffered then 'overlap'
            when job.overlap = 'buffer_one' and others.unfinished then 'buffered'
            else 'leased'
        end as verdict
    from locked
    cross join (select coalesce(%(now)s::timestamptz, clock_timestamp()) as now) as clock
    inner join job on locked.job_id = job.job_id
    inner join target on job.target_id = target.target_id
    left join lateral (
        select
            coalesce(bool_or(other.state in ('running', 'retrying')), false) as unfinished,
            coalesce(bool_or(other.state = 'queued' and other.reason = 'buffered'), false) as buffered
        from run as other
        where
            job.overlap in ('skip', 'buffer_one')
            and other.job_id = locked.job_id and other.scheduled_for <> locked.scheduled_for
            and other.wake_at is not null
    ) as others on true
),

leased as (
    update run
    set
        state = 'running',
        attempt = run.attempt + 1,
        target_id = judged.target_id,
        reason = null,
        lease_token = gen_random_uuid(),
        lease_expires_at = clock.now + %(lease)s,
        wake_at = clock.now + %(lease)s,
        wakes = 0,
        started_at = coalesce(run.started_at, clock.now)
    from judged
    cross join (select coalesce(%(now)s::timestamptz, clock_timestamp()) as now) as clock
    where
        judged.verdict = 'leased'
        and run.job_id = judged.job_id and run.scheduled_for = judged.scheduled_for
    returning
        run.job_id, run.scheduled_for, run.run_id, run.attempt, run.lease_token, run.lease_expires_at,
        run.payload, run.progress, run.fire_at, run.started_at, run.created_at, clock.now
),

superseded as (
    update run as other
    set
        state = 'cancelled', reason = 'superseded', lease_token = null, lease_expires_at = null, wake_at = null,
        finished_at = leased.now
    from judged
    inner join leased on judged.job_id = leased.job_id and judged.scheduled_for = leased.scheduled_for
    where
        judged.job_overlap = 'cancel_running'
        and other.job_id = judged.job_id and other.scheduled_for <> judged.scheduled_for
        and other.state in ('running', 'retrying')
    returning other.run_id, other.scheduled_for, other.attempt, leased.now
),

closed as (
    update attempt
    set finished_at = superseded.now, outcome = 'cancelled', error = 'a later run of the job took its place'
    from superseded
    where
        attempt.run_id = superseded.run_id and attempt.number = superseded.attempt
        and attempt.scheduled_for = superseded.scheduled_for and attempt.finished_at is null
),

opened as (
    insert into attempt (run_id, scheduled_for, number, started_at)
    select leased.run_id, leased.scheduled_for, leased.attempt, leased.now
    from leased
),

ended as (
    update run
    set
        state = case when judged.verdict in ('paused', 'overlap') then 'skipped' else 'cancelled' end,
        reason = case judged.verdict when 'no_target' then 'target_deleted' else judged.verdict end,
        wake_at = null,
        finished_at = coalesce(%(now)s::timestamptz, clock_timestamp())
    from judged
    where
        judged.verdict in ('paused', 'deleted', 'no_target', 'overlap')
        and run.job_id = judged.job_id and run.scheduled_for = judged.scheduled_for
),

held as (
    update run
    set
        reason = case judged.verdict when 'buffered' then 'buffered' else 'target_paused' end,
        next_attempt_at = coalesce(%(now)s::timestamptz, clock_timestamp()) + %(hold_off)s,
        wake_at = coalesce(%(now)s::timestamptz, clock_timestamp()) + %(hold_off)s
    from judged
    where
        judged.verdict in ('held', 'buffered')
        and run.job_id = judged.job_id and run.scheduled_for = judged.scheduled_for
)

select
    judged.job_id,
    judged.scheduled_for,
    judged.run_id,
    judged.verdict,
    judged.lane,
    judged.remaining,
    judged.target_id,
    judged.job_overlap,
    judged.job_schedule,
    judged.job_retry,
    judged.job_timeout_ms,
    judged.target_kind,
    judged.target_config,
    coalesce(leased.payload, judged.job_payload) as payload,
    leased.attempt,
    leased.lease_token,
    leased.progress,
    leased.fire_at,
    leased.started_at
from judged
left join leased on judged.job_id = leased.job_id and judged.scheduled_for = leased.scheduled_for
