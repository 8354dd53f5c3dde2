-- Gives each run to one worker at a time, only when its time has come, together with its job and target as they are at this moment.
-- Runs of paused or deleted jobs end here; a run planned for an older schedule is answered with verdict 'recheck',
-- and leased when it is asked for again as checked. A run that competes with others (its job minds overlapping runs, its
-- target has a concurrency limit) is not answered: lease_contended_runs.sql judges it. The bounds of scheduled_for keep
-- planning to the partitions that are meant; without them it costs more than everything else, and grows with each day kept.
with wanted as (
    select *
    from unnest(
        %(job_ids)s::uuid[], %(scheduled_for)s::timestamptz[], %(checked)s::boolean[], %(lanes)s::text[]
    ) as w (job_id, scheduled_for, checked, lane)
),

locked as materialized (
    select
        run.job_id,
        run.scheduled_for,
        run.run_id,
        run.state,
        run.lane,
        run.next_attempt_at,
        run.fire_at,
        run.schedule_version,
        run.attempts_before,
        -- whether the job's schedule and pause have a say in it
        run.origin = 'schedule' and not run.redriven as scheduled,
        wanted.checked,
        -- its last worker died: it may come back to the shared lane with that worker's batch, and must not start there
        run.lane = 'solo' and wanted.lane = 'shared' as must_be_alone
    from wanted
    inner join run on wanted.job_id = run.job_id and wanted.scheduled_for = run.scheduled_for
    inner join job on run.job_id = job.job_id
    inner join target on job.target_id = target.target_id
    where
        run.scheduled_for between %(first)s and %(last)s
        and job.overlap = 'allow' and target.max_concurrency is null
    order by run.job_id, run.scheduled_for
    for update of run
),

judged as (
    select
        locked.*,
        clock.now as judged_at,
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
        target.max_concurrency,
        case
            when locked.state not in ('queued', 'retrying') or locked.must_be_alone then 'taken'
            when job.state = 'deleted' then 'deleted'
            -- only a worker of its target may have a run that is pulled, and such a worker no other
            when target.kind = 'pull' and %(puller)s::uuid is null then 'elsewhere'
            when %(puller)s::uuid is not null and (target.kind <> 'pull' or target.target_id <> %(puller)s::uuid)
                then 'elsewhere'
            when locked.next_attempt_at > clock.now then 'early'
            when locked.scheduled and job.state = 'paused' then 'paused'
            when target.state = 'paused' then 'held'
            when target.state = 'deleted' then 'no_target'
            when
                locked.scheduled and not locked.checked
                and locked.schedule_version <> job.schedule_version then 'recheck'
            else 'leased'
        end as verdict
    from locked
    cross join (select coalesce(%(now)s::timestamptz, clock_timestamp()) as now) as clock
    inner join job on locked.job_id = job.job_id
    inner join target on job.target_id = target.target_id
),

leased as (
    update run
    set
        state = 'running',
        attempt = run.attempt + 1,
        target_id = judged.target_id,
        limited = false,
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
        and run.scheduled_for between %(first)s and %(last)s
    returning
        run.job_id, run.scheduled_for, run.run_id, run.attempt, run.lease_token, run.lease_expires_at,
        run.payload, run.progress, run.fire_at, run.started_at, run.created_at, clock.now
),

opened as (
    insert into attempt (run_id, scheduled_for, number, started_at)
    select leased.run_id, leased.scheduled_for, leased.attempt, leased.now
    from leased
),

ended as (
    update run
    set
        state = case judged.verdict when 'paused' then 'skipped' else 'cancelled' end,
        reason = case judged.verdict when 'no_target' then 'target_deleted' else judged.verdict end,
        wake_at = null,
        finished_at = coalesce(%(now)s::timestamptz, clock_timestamp())
    from judged
    where
        judged.verdict in ('paused', 'deleted', 'no_target')
        and run.job_id = judged.job_id and run.scheduled_for = judged.scheduled_for
        and run.scheduled_for between %(first)s and %(last)s
),

moved as (
    update run
    set wake_at = judged.judged_at
    from judged
    where
        judged.verdict = 'elsewhere'
        and run.job_id = judged.job_id and run.scheduled_for = judged.scheduled_for
        and run.scheduled_for between %(first)s and %(last)s
),

held as (
    update run
    set
        reason = 'target_paused',
        target_id = judged.target_id,
        next_attempt_at = judged.judged_at + %(paused_hold_off)s,
        wake_at = judged.judged_at + %(paused_hold_off)s
    from judged
    where
        judged.verdict = 'held'
        and run.job_id = judged.job_id and run.scheduled_for = judged.scheduled_for
        and run.scheduled_for between %(first)s and %(last)s
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
    judged.max_concurrency,
    judged.job_schedule,
    judged.job_retry,
    judged.job_timeout_ms,
    judged.target_kind,
    judged.target_config,
    coalesce(leased.payload, judged.job_payload) as payload,
    leased.attempt,
    judged.attempts_before,
    leased.lease_token,
    leased.lease_expires_at,
    leased.progress,
    leased.fire_at,
    leased.started_at
from judged
left join leased on judged.job_id = leased.job_id and judged.scheduled_for = leased.scheduled_for
