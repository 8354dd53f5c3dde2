-- The segments of one hour that may hold jobs of the tenant after this id and are not in the hot tier yet.
select
    segment.first_id,
    segment.promoted_through,
    segment.object_key,
    segment.object_version,
    segment.bytes,
    segment.sha256,
    segment.blocks
from cold_segment as segment
where
    segment.due_hour = %(due_hour)s
    and segment.state = 'live'
    and (%(after_id)s::uuid is null or segment.last_id > %(after_id)s::uuid)
    and exists (
        select 1 from cold_content as content
        where content.segment_id = segment.segment_id and content.tenant_id = %(tenant_id)s
    )
order by segment.first_id
