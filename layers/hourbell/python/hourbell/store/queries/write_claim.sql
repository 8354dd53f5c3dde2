-- Writes one claim whole: the runs, the due rows moved on or removed, the jobs completed. A run that waits already is only
-- confirmed for the present schedule; one that found its job paused is opened again, for a resumption that catches up.
with planned as (
    insert into run as waiting (
        job_id, scheduled_for, run_id, tenant_id, target_id, origin, lane, state,
        schedule_version, fire_at, next_attempt_at, wake_at, created_at
    )
    select
        p.job_id, p.scheduled_for, p.run_id, p.tenant_id, p.target_id, 'schedule', p.lane, 'queued',
        p.schedule_version, p.fire_at, p.fire_at, greatest(p.fire_at, %(now)s) + %(grace)s, %(now)s
    from
        unnest(
            %(run_job_ids)s::uuid[], %(run_scheduled_for)s::timestamptz[], %(run_ids)s::uuid[],
            %(run_tenant_ids)s::uuid[], %(run_target_ids)s::uuid[], %(run_lanes)s::text[],
            %(run_schedule_versions)s::integer[],
            %(run_fire_at)s::timestamptz[]
        )
            as p (
                job_id, scheduled_for, run_id, tenant_id, target_id, lane, schedule_version, fire_at
            )
    on conflict (job_id, scheduled_for) do update
        set
            schedule_version = excluded.schedule_version,
            state = case waiting.state when 'skipped' then 'queued' else waiting.state end,
            reason = case waiting.state when 'skipped' then null else waiting.reason end,
            lane = case waiting.state when 'skipped' then excluded.lane else waiting.lane end,
            wake_at = case waiting.state when 'skipped' then excluded.wake_at else waiting.wake_at end,
            next_attempt_at = case waiting.state when 'skipped' then excluded.fire_at else waiting.next_attempt_at end,
            fire_at = case waiting.state when 'skipped' then excluded.fire_at else waiting.fire_at end,
            finished_at = null
        where
        (waiting.state in ('queued', 'retrying') and waiting.schedule_version <> excluded.schedule_version)
        or (waiting.state = 'skipped' and waiting.reason = 'paused')
),

skipped as (
    insert into run (
        job_id, scheduled_for, run_id, tenant_id, target_id, origin, lane, state, reason,
        schedule_version, fire_at, next_attempt_at, finished_at, created_at
    )
    select
        s.job_id, s.scheduled_for, s.run_id, s.tenant_id, s.target_id, 'schedule', 'shared', 'skipped', s.reason,
        s.schedule_version, s.scheduled_for, s.scheduled_for, %(now)s, %(now)s
    from
        unnest(
            %(skipped_job_ids)s::uuid[], %(skipped_scheduled_for)s::timestamptz[], %(skipped_ids)s::uuid[],
            %(skipped_tenant_ids)s::uuid[], %(skipped_target_ids)s::uuid[], %(skipped_reasons)s::text[],
            %(skipped_schedule_versions)s::integer[]
        ) as s (job_id, scheduled_for, run_id, tenant_id, target_id, reason, schedule_version)
    on conflict (job_id, scheduled_for) do nothing
),

moved as (
    update due
    set next_run_at = m.next_run_at, scheduled_for = m.scheduled_for
    from
        unnest(
            %(moved_job_ids)s::uuid[], %(moved_next_run_at)s::timestamptz[], %(moved_scheduled_for)s::timestamptz[]
        ) as m (job_id, next_run_at, scheduled_for)
    where due.job_id = m.job_id
),

removed as (
    delete from due
    where due.job_id = any(%(removed_job_ids)s::uuid[])
),

counted as (
    update job
    set runs_planned = job.runs_planned + c.runs
    from unnest(%(counted_job_ids)s::uuid[], %(counted_runs)s::integer[]) as c (job_id, runs)
    where job.job_id = c.job_id
),

completed as (
    update job
    set state = 'completed', runs_planned = job.runs_planned + c.runs, updated_at = %(now)s
    from unnest(%(completed_job_ids)s::uuid[], %(completed_runs)s::integer[]) as c (job_id, runs)
    where job.job_id = c.job_id and job.state = 'active'
),

broken as (
    update job
    set error = b.error, updated_at = %(now)s
    from unnest(%(broken_job_ids)s::uuid[], %(broken_errors)s::text[]) as b (job_id, error)
    where job.job_id = b.job_id
)

insert into missed (
    job_id, first_scheduled_for, last_scheduled_for, tenant_id, occurrences, reason, recorded_at
)
select m.job_id, m.first_scheduled_for, m.last_scheduled_for, m.tenant_id, m.occurrences, m.reason, %(now)s
from
    unnest(
        %(missed_job_ids)s::uuid[], %(missed_first)s::timestamptz[], %(missed_last)s::timestamptz[],
        %(missed_tenant_ids)s::uuid[], %(missed_occurrences)s::bigint[], %(missed_reasons)s::text[]
    ) as m (job_id, first_scheduled_for, last_scheduled_for, tenant_id, occurrences, reason)
on conflict (job_id, first_scheduled_for) do nothing
