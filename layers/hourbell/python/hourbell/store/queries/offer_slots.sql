-- Offers free slots of limited targets to the runs that waited longest, as many as there are slots; answers what must be sent.
-- A slot is free when neither a standing lease nor an earlier offer has it. The caller holds the targets: otherwise a run
-- that is being told to wait at this moment would not be seen, and nobody would offer it the slot.
with room as (
    select
        target.target_id,
        target.max_concurrency - (
            select count(*)
            from run as holder
            where
                holder.target_id = target.target_id and holder.limited and holder.state = 'running'
                and holder.lease_expires_at > clock.now
        ) - (
            select count(*)
            from run as offered
            where
                offered.target_id = target.target_id and offered.reason = 'slot_offered'
                and offered.wake_at > clock.now
        ) as slots
    from target
    cross join (select coalesce(%(now)s::timestamptz, clock_timestamp()) as now) as clock
    where target.target_id = any(%(target_ids)s) and target.max_concurrency is not null
),

longest as materialized (
    select
        waiting.job_id,
        waiting.scheduled_for
    from room
    cross join lateral (
        select
            run.job_id,
            run.scheduled_for
        from run
        where
            run.target_id = room.target_id and run.reason in ('no_slot', 'slot_offered')
            and run.wake_at is not null and run.state in ('queued', 'retrying')
            and (
                run.reason = 'no_slot'
                or run.wake_at <= coalesce(%(now)s::timestamptz, clock_timestamp())
            )
        order by run.fire_at, run.job_id
        limit greatest(room.slots, 0)
        for update skip locked
    ) as waiting
)

update run
set
    reason = 'slot_offered',
    wake_at = coalesce(%(now)s::timestamptz, clock_timestamp()) + %(grace)s
from longest
where run.job_id = longest.job_id and run.scheduled_for = longest.scheduled_for
returning run.job_id, run.scheduled_for, run.tenant_id, run.lane, run.next_attempt_at
