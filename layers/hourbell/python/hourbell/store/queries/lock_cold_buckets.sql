-- Locks buckets against creates, take-outs and each other's changes until the transaction ends, in the order of their hours; answers the open ones.
-- A condition on a locking subquery would be pushed into it, and leave buckets that are not open unlocked: hence the materialized list.
with locked as materialized (
    select
        b.due_hour,
        b.state
    from cold_bucket as b
    where b.due_hour = any(%(due_hours)s::integer[])
    order by b.due_hour
    for no key update
)

select locked.due_hour
from locked
where locked.state = 'open'
