-- Locks the oldest runs that wait for a worker of one target, as many as its concurrency limit leaves room for and a
-- reply can carry. A run that another worker is being given at this moment is passed over.
with clock as (select coalesce(%(now)s::timestamptz, clock_timestamp()) as now),

room as (
    select
        target.max_concurrency - (
            select count(*)
            from run as holder
            where
                holder.target_id = target.target_id and holder.limited and holder.state = 'running'
                and holder.lease_expires_at > clock.now
        ) as slots
    from target
    cross join clock
    where target.target_id = %(target_id)s and target.tenant_id = %(tenant_id)s
),

locked as materialized (
    select
        run.job_id,
        run.scheduled_for,
        run.fire_at,
        octet_length(coalesce(run.payload, job.payload)) as bytes
    from run
    inner join job on run.job_id = job.job_id
    where
        run.target_id = %(target_id)s and run.tenant_id = %(tenant_id)s
        and run.lane = 'pull' and run.state in ('queued', 'retrying')
        and run.next_attempt_at <= (select clock.now from clock)
    order by run.fire_at, run.job_id
    limit (select greatest(least(%(limit)s, room.slots), 0) from room)
    for update of run skip locked
),

measured as (
    select
        locked.*,
        sum(locked.bytes) over (order by locked.fire_at, locked.job_id, locked.scheduled_for) - locked.bytes as bytes_before
    from locked
)

select
    measured.job_id,
    measured.scheduled_for
from measured
where measured.bytes_before < %(bytes)s
order by measured.fire_at, measured.job_id
