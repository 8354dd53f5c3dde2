-- A page of a tenant's runs, latest occurrence first; the keyset is (scheduled_for, job_id), the index's own order.
-- What few runs are has an index of its own; "wake_at is not null" leads those that have not ended to the reaper's.
-- History: a scheduled run that has only been planned ahead is shown to whoever asks for queued ones, and to nobody else.
select
    run.run_id,
    run.job_id,
    run.target_id,
    run.origin,
    run.state,
    run.reason,
    run.scheduled_for,
    run.fire_at,
    run.attempt,
    run.progress::text as progress,
    run.result,
    run.error,
    run.started_at,
    run.finished_at,
    run.created_at
from run
where
    run.tenant_id = %(tenant_id)s
    and (%(state)s::text is null or run.state = %(state)s::text)
    and (%(state)s::text is null or %(state)s::text not in ('queued', 'running', 'retrying') or run.wake_at is not null)
    and (
        %(state)s::text is not distinct from 'queued'
        or run.state <> 'queued' or run.attempt > 0 or run.origin <> 'schedule' or run.fire_at <= %(now)s
    )
    and (%(job_id)s::uuid is null or run.job_id = %(job_id)s::uuid)
    and (%(target_id)s::uuid is null or run.target_id = %(target_id)s::uuid)
    and (
        %(target_name)s::text is null
        or run.target_id in (
            select target.target_id from target
            where target.tenant_id = %(tenant_id)s and target.name = %(target_name)s::text
        )
    )
    and (%(from_at)s::timestamptz is null or run.scheduled_for >= %(from_at)s::timestamptz)
    and (%(to_at)s::timestamptz is null or run.scheduled_for < %(to_at)s::timestamptz)
    and (
        %(before_at)s::timestamptz is null
        or (
            run.scheduled_for <= %(before_at)s::timestamptz
            and (run.scheduled_for < %(before_at)s::timestamptz or run.job_id > %(after_job_id)s::uuid)
        )
    )
order by run.scheduled_for desc, run.job_id asc
limit %(limit)s
