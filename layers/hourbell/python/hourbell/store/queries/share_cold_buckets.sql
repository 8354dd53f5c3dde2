-- Locks buckets against promotion until the transaction ends, in the order of their hours; many may share the lock.
select bucket.due_hour, bucket.state
from cold_bucket as bucket
where bucket.due_hour = any(%(due_hours)s::integer[])
order by bucket.due_hour
for share
