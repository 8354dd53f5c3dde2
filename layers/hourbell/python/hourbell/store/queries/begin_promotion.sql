-- Closes every hour that belongs into the hot tier to creates, and answers those that are not promoted, or have something left all the same.
with wanted as (
    select bucket.due_hour
    from cold_bucket as bucket
    where
        bucket.due_hour <= %(last_hour)s
        and (
            bucket.state <> 'promoted'
            or exists (select 1 from cold_intake as intake where intake.due_hour = bucket.due_hour)
            or exists (
                select 1 from cold_segment as segment
                where segment.due_hour = bucket.due_hour and segment.state = 'live'
            )
        )
    order by bucket.due_hour
    for no key update of bucket
)

update cold_bucket
set state = 'promoting'
from wanted
where cold_bucket.due_hour = wanted.due_hour
returning cold_bucket.due_hour
