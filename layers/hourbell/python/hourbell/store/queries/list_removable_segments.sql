-- Segments whose objects nobody needs any more: merged into others a while ago, or of an hour that was promoted and is over.
select
    segment.segment_id,
    segment.object_key
from cold_segment as segment
inner join cold_bucket as bucket on segment.due_hour = bucket.due_hour
where
    segment.state <> 'live'
    and (
        segment.retired_at <= %(retired_before)s
        or (bucket.state = 'promoted' and bucket.due_hour <= %(last_hour)s and bucket.promoted_at <= %(retired_before)s)
    )
order by segment.segment_id
limit %(limit)s
