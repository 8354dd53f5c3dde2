-- Forgets hours that were promoted, are over, and have no segment left, with their tombstones.
with past as (
    select bucket.due_hour
    from cold_bucket as bucket
    where
        bucket.state = 'promoted'
        and bucket.due_hour <= %(last_hour)s
        and bucket.promoted_at <= %(retired_before)s
        and not exists (select 1 from cold_segment as segment where segment.due_hour = bucket.due_hour)
        and not exists (select 1 from cold_intake as intake where intake.due_hour = bucket.due_hour)
    order by bucket.due_hour
    for update
),

untombed as (
    delete from cold_tombstone
    using past
    where cold_tombstone.due_hour = past.due_hour
)

delete from cold_bucket
using past
where cold_bucket.due_hour = past.due_hour
