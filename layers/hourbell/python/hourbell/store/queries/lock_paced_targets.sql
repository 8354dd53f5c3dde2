-- Locks those of these targets that have a rate limit, in id order, so that two planners never give away the same moment; jobs of the target may still be made meanwhile.
select
    target.target_id,
    target.rate_per_second,
    coalesce(target.burst, 1) as burst,
    target.tat
from target
where target.target_id = any(%(target_ids)s) and target.rate_per_second is not null
order by target.target_id
for no key update
