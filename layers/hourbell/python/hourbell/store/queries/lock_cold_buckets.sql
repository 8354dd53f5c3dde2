-- Locks buckets against creates, take-outs and each other's changes until the transaction ends, in the order of their hours; answers the open ones.
select bucket.due_hour
from (
    select
        b.due_hour,
        b.state
    from cold_bucket as b
    where b.due_hour = any(%(due_hours)s::integer[])
    order by b.due_hour
    for no key update
) as bucket
where bucket.state = 'open'
