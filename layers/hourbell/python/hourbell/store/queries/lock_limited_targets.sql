-- Locks those of these targets that have a concurrency limit, in id order: whoever judges their runs meanwhile waits, and
-- what was judged before is visible to the statement that follows.
select target.target_id
from target
where target.target_id = any(%(target_ids)s) and target.max_concurrency is not null
order by target.target_id
for no key update
