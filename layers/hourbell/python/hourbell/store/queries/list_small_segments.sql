-- The segments of open hours after this one that have at least so many, as compaction sees them.
select
    segment.segment_id,
    segment.due_hour,
    segment.jobs,
    segment.text_bytes,
    segment.object_key,
    segment.object_version,
    segment.bytes,
    segment.sha256,
    segment.blocks
from cold_segment as segment
inner join (
    select s.due_hour
    from cold_segment as s
    inner join cold_bucket as bucket on s.due_hour = bucket.due_hour and bucket.state = 'open'
    where s.state = 'live' and s.due_hour > %(after_hour)s and s.error is null
    group by s.due_hour
    having count(*) >= %(least)s
) as many on segment.due_hour = many.due_hour
where segment.state = 'live' and segment.error is null
order by segment.due_hour, segment.first_id
