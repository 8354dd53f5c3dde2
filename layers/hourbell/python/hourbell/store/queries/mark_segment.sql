-- Says why a segment could not be read; it is tried again all the same.
update cold_segment
set error = %(error)s
where cold_segment.segment_id = %(segment_id)s and cold_segment.state = 'live'
