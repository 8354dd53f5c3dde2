-- Remembers how far a segment has come into the hot tier, and when it is there whole.
update cold_segment
set
    promoted_through = %(through)s,
    state = case when %(through)s >= cold_segment.last_id then 'promoted' else cold_segment.state end,
    error = null
where cold_segment.segment_id = %(segment_id)s and cold_segment.state = 'live'
