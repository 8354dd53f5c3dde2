-- Ends the caller's own lease, so that the next tick need not wait for it to run out.
update cold_lease
set expires_at = '-infinity'
where name = %(name)s and owner = %(owner)s
