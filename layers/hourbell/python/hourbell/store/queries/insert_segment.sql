-- Enters an object into the catalogue; one that is there already, by a transaction whose commit was not heard of, stays as it is.
insert into cold_segment (
    segment_id, object_key, object_version, due_hour, first_id, last_id, jobs, bytes, text_bytes, sha256, blocks, created_at
) values (
    %(segment_id)s, %(object_key)s, %(object_version)s, %(due_hour)s, %(first_id)s, %(last_id)s, %(jobs)s, %(size)s,
    %(text_bytes)s, %(sha256)s, %(blocks)s, %(now)s
)
on conflict (object_key) do nothing
