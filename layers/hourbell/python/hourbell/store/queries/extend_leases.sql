-- Extends the leases that are still the caller's (same token); those it does not answer are lost.
with mine as (
    select
        run.job_id,
        run.scheduled_for
    from
        unnest(
            %(job_ids)s::uuid[], %(scheduled_for)s::timestamptz[], %(tokens)s::uuid[]
        ) as held (job_id, scheduled_for, token)
    inner join run on held.job_id = run.job_id and held.scheduled_for = run.scheduled_for
    where
        run.state = 'running' and run.lease_token = held.token
        and run.scheduled_for between %(first)s and %(last)s
    order by run.job_id, run.scheduled_for
    for update of run
)

update run
set
    lease_expires_at = coalesce(%(now)s::timestamptz, clock_timestamp()) + %(lease)s,
    wake_at = coalesce(%(now)s::timestamptz, clock_timestamp()) + %(lease)s
from mine
where
    run.job_id = mine.job_id and run.scheduled_for = mine.scheduled_for
    and run.scheduled_for between %(first)s and %(last)s
returning run.lease_token
