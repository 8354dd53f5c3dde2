-- Jobs of this target, newest first, as many as are asked for.
-- A range and not an equation: only the index of targets has this order, and the planner would rather walk all jobs.
select found.job_id
from searched_job as found
where
    found.tenant_id = %(tenant_id)s
    and found.state <> 'deleted'
    and (%(before_id)s::uuid is null or found.job_id < %(before_id)s::uuid)
    and found.target_id between %(target_id)s and %(target_id)s
order by found.target_id desc, found.job_id desc
limit %(limit)s
