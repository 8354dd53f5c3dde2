-- As lease_runs.sql, for the runs that compete with others: overlap and concurrency limits are judged here and nowhere
-- else. The caller holds what they compete for (lock_contended.sql) and asks for one run of a job at a time.
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
    where run.scheduled_for between %(first)s and %(last)s
    order by run.job_id, run.scheduled_for
    for update of run
),

alone as (
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

-- Each run beside the others of its target: those that hold a slot, those that waited longer, those of this batch.
judged as (
    select
        alone.*,
        case
            when
                alone.verdict = 'leased' and alone.max_concurrency is not null
                and holders.runs + ahead.runs + row_number() over (
                    partition by alone.target_id, alone.verdict order by alone.fire_at, alone.job_id
                ) > alone.max_concurrency then 'no_slot'
            else alone.verdict
        end as final_verdict
    from alone
    left join lateral (
        select count(*) as runs
        from run as holder
        where
            alone.max_concurrency is not null
            and holder.target_id = alone.target_id and holder.limited and holder.state = 'running'
            and holder.lease_expires_at > alone.judged_at
    ) as holders on true
    left join lateral (
        select count(*) as runs
        from (
            select 1
            from run as older
            where
                alone.max_concurrency is not null
                and older.target_id = alone.target_id
                and older.reason in ('no_slot', 'slot_offered') and older.wake_at is not null
                and (older.fire_at, older.job_id) < (alone.fire_at, alone.job_id)
                and (older.job_id, older.scheduled_for) not in (select l.job_id, l.scheduled_for from locked as l)
            limit alone.max_concurrency
        ) as older_ones
    ) as ahead on true
),

leased as (
    update run
    set
        state = 'running',
        attempt = run.attempt + 1,
        target_id = judged.target_id,
        limited = judged.max_concurrency is not null,
        reason = null,
        lease_token = gen_random_uuid(),
        lease_expires_at = clock.now + %(lease)s,
        wake_at = clock.now + %(lease)s,
        wakes = 0,
        started_at = coalesce(run.started_at, clock.now)
    from judged
    cross join (select coalesce(%(now)s::timestamptz, clock_timestamp()) as now) as clock
    where
        judged.final_verdict = 'leased'
        and run.job_id = judged.job_id and run.scheduled_for = judged.scheduled_for
        and run.scheduled_for between %(first)s and %(last)s
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

queued_for_slot as (
    update run
    set reason = 'no_slot', target_id = judged.target_id, wake_at = judged.judged_at + %(hold_off)s
    from judged
    where
        judged.final_verdict = 'no_slot'
        and run.job_id = judged.job_id and run.scheduled_for = judged.scheduled_for
        and run.scheduled_for between %(first)s and %(last)s
),

opened as (
    insert into attempt (run_id, scheduled_for, number, started_at)
    select leased.run_id, leased.scheduled_for, leased.attempt, leased.now
    from leased
),

ended as (
    update run
    set
        state = case when judged.final_verdict in ('paused', 'overlap') then 'skipped' else 'cancelled' end,
        reason = case judged.final_verdict when 'no_target' then 'target_deleted' else judged.final_verdict end,
        wake_at = null,
        finished_at = coalesce(%(now)s::timestamptz, clock_timestamp())
    from judged
    where
        judged.final_verdict in ('paused', 'deleted', 'no_target', 'overlap')
        and run.job_id = judged.job_id and run.scheduled_for = judged.scheduled_for
        and run.scheduled_for between %(first)s and %(last)s
),

moved as (
    update run
    set wake_at = judged.judged_at
    from judged
    where
        judged.final_verdict = 'elsewhere'
        and run.job_id = judged.job_id and run.scheduled_for = judged.scheduled_for
        and run.scheduled_for between %(first)s and %(last)s
),

held as (
    update run
    set
        reason = case judged.final_verdict when 'buffered' then 'buffered' else 'target_paused' end,
        target_id = judged.target_id,
        next_attempt_at = judged.judged_at
        + case judged.final_verdict when 'buffered' then %(hold_off)s else %(paused_hold_off)s end,
        wake_at = judged.judged_at
        + case judged.final_verdict when 'buffered' then %(hold_off)s else %(paused_hold_off)s end
    from judged
    where
        judged.final_verdict in ('held', 'buffered')
        and run.job_id = judged.job_id and run.scheduled_for = judged.scheduled_for
        and run.scheduled_for between %(first)s and %(last)s
)

select
    judged.job_id,
    judged.scheduled_for,
    judged.run_id,
    judged.final_verdict as verdict,
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
