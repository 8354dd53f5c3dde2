-- Writes what an object is into its row, unless the segment is live no more.
update cold_segment
set
    object_version = %(object_version)s,
    first_id = %(first_id)s,
    last_id = %(last_id)s,
    jobs = %(jobs)s,
    bytes = %(size)s,
    text_bytes = %(text_bytes)s,
    sha256 = %(sha256)s,
    blocks = %(blocks)s,
    error = null
where cold_segment.segment_id = %(segment_id)s and cold_segment.state = 'live'
