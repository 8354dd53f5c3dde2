-- The tenant's next job after so many that are skipped, newest first; nothing where there are not so many.
select found.job_id
from searched_job as found
where
    found.tenant_id = %(tenant_id)s
    and found.state <> 'deleted'
    and (%(before_id)s::uuid is null or found.job_id < %(before_id)s::uuid)
order by found.job_id desc
limit 1 offset %(skipped)s
