-- The segments of one hour that are not in the hot tier, or not whole.
select
    segment.segment_id,
    segment.promoted_through,
    segment.object_key,
    segment.object_version,
    segment.bytes,
    segment.sha256,
    segment.blocks
from cold_segment as segment
where segment.due_hour = %(due_hour)s and segment.state = 'live'
order by segment.first_id
