-- The next live segments of all tenants, by hour and id; nothing is locked.
select
    segment.segment_id,
    segment.due_hour,
    segment.first_id,
    segment.last_id,
    segment.jobs,
    (
        select coalesce(sum(content.jobs), 0)::integer
        from cold_content as content
        where content.segment_id = segment.segment_id
    ) as content,
    segment.object_key,
    segment.object_version,
    segment.bytes,
    segment.sha256,
    segment.blocks
from cold_segment as segment
where
    segment.state = 'live'
    and (segment.due_hour, segment.segment_id) > (%(after_hour)s::integer, %(after_id)s::uuid)
order by segment.due_hour, segment.segment_id
limit %(limit)s
