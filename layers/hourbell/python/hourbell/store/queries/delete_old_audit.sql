-- Deletes the records of changes that are past their retention.
delete from audit
where audit.recorded_at <= %(before)s
