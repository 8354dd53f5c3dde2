-- Ends the caller's own lease, so that the next tick need not wait for it to run out.
update shard_lease
set expires_at = '-infinity'
where
    first_shard = %(first_shard)s and last_shard = %(last_shard)s
    and owner = %(owner)s and token = %(token)s
