-- Forgets segments whose objects were deleted.
delete from cold_segment
where cold_segment.segment_id = any(%(segment_ids)s::uuid[]) and cold_segment.state <> 'live'
